/** Which code measured a recording: figures of an engine that has changed since must be recorded again. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('../../../../', import.meta.url));
/** Of the lab its programs, the rooms below them, and the room that measures trials. */
const labRooms = ['meters', 'integrity', 'raw', 'surroundings', 'systems', 'trial', 'programs', 'run'];
const folders = [
  'packages/engine/src',
  ...labRooms.map((room) => `packages/lab/src/${room}`),
  // What trials start beside the engine.
  'packages/jetstream/src',
  'apps/server/src',
];
/** The rules by which sessions are placed and repeats count; the rest of the contract is descriptions. */
const files = ['session-placement.ts', 'repeat-conditions.ts'].map((name) => `packages/contract/src/${name}`);

/**
 * A hash over the sources that decide what a trial measures. Judges, pages, commands and the texts of errors may change without it.
 * 16 hexadecimal digits. `root`: of the checkout.
 */
export function codeFingerprint(root: string = checkout): string {
  const hash = createHash('sha256');
  for (const file of [...folders.flatMap((folder) => sourcesIn(root, folder)), ...files])
    hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

const sourcesIn = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => `${folder}/${name}`);
