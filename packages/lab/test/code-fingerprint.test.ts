/** A recording is out of date as soon as the code that measured it changes, and only then. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { codeFingerprint } from '../src/recorded/code-fingerprint.ts';

const measuring = [
  'packages/engine/src/log/log.ts',
  'packages/lab/src/programs/queue/trial/session.ts',
  'packages/lab/src/run/measure-repeat.ts',
  ...['integrity', 'meters', 'raw', 'surroundings', 'systems', 'trial'].map(
    (room) => `packages/lab/src/${room}/a.ts`,
  ),
  'packages/jetstream/src/session.ts',
  'apps/server/src/routes.ts',
  'packages/contract/src/session-placement.ts',
  'packages/contract/src/repeat-conditions.ts',
];
const others = [
  'packages/lab/src/judging/clause.ts',
  'packages/contract/src/claim.ts',
  'apps/web/src/main.ts',
];

test('the fingerprint changes with each part that decides what a trial measures, and with no other', () => {
  const parent = mkdtempSync(join(tmpdir(), 'shardlab-fingerprint-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const write = (root: string, file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const before = join(parent, 'before');
  for (const file of [...measuring, ...others]) write(before, file, 'one');
  const changed = (file: string) => {
    const root = join(parent, file.replaceAll('/', '-'));
    cpSync(before, root, { recursive: true });
    write(root, file, 'two');
    return codeFingerprint(root) !== codeFingerprint(before);
  };
  expect(measuring.filter((file) => !changed(file))).toEqual([]);
  expect(others.filter(changed)).toEqual([]);
});
