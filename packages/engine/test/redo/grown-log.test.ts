/** Segments that are added to a log by a process that may be replaced, or have lost the instance, at any moment. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { nodePorts } from '../../src/node-ports.ts';
import { InstanceFile, instanceFilePath } from '../../src/storage/instance-file/instance-file.ts';
import { segmentPath } from '../../src/storage/redo/segment-files.ts';
import { makeFolder } from '../folder.ts';

const bytes = 64 * 1024;

function open(path: string): InstanceFile {
  const file = new InstanceFile(path, nodePorts.clock);
  onTestFinished(() => file.close());
  return file;
}

it('a segment that is asked for again, since its process ended before the answer, is listed once and left as it is', () => {
  const path = instanceFilePath(makeFolder(), 1);
  const file = open(path);
  const { epoch } = file.recover();
  writeFileSync(segmentPath(path, 2), 'left by a process that ended before it was listed');
  file.growLog({ number: 2, bytes });
  expect(readFileSync(segmentPath(path, 2))).toEqual(Buffer.alloc(bytes));
  writeFileSync(segmentPath(path, 2), Buffer.alloc(bytes, 'records'));
  const next = open(path);
  next.resume(epoch);
  next.growLog({ number: 2, bytes });
  expect(readFileSync(segmentPath(path, 2))).toEqual(Buffer.alloc(bytes, 'records'));
  expect(next.resume(epoch).segments.map(({ number }) => number)).toEqual([0, 1, 2]);
});

it('a process that has lost the instance does not touch a segment', () => {
  const path = instanceFilePath(makeFolder(), 1);
  const before = open(path);
  before.recover();
  open(path).recover();
  writeFileSync(segmentPath(path, 2), 'not listed yet');
  expect(() => before.growLog({ number: 2, bytes })).toThrow(
    expect.objectContaining({ code: 'INSTANCE_FENCED' }),
  );
  expect(readFileSync(segmentPath(path, 2), 'utf8')).toBe('not listed yet');
});
