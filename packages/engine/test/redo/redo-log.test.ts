/** The redo log on real files: what is read back is what was written, and damage is an end only where nothing behind it claims more. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { TableWrite } from '../../src/model/table-write.ts';
import { assertClaimMet, highestClaim } from '../../src/storage/redo/check-claims.ts';
import { decodeGroup, type LoggedGroup } from '../../src/storage/redo/encode-group.ts';
import { LogReader, logStart } from '../../src/storage/redo/log-reader.ts';
import { encodeSegmentHeader } from '../../src/storage/redo/record.ts';
import { RedoLog } from '../../src/storage/redo/redo-log.ts';
import {
  beginSegment,
  closeSegment,
  fillSegment,
  type OpenSegment,
  openSegment,
  segmentPath,
} from '../../src/storage/redo/segment-files.ts';
import { random } from '../random.ts';

const logId = Buffer.alloc(16, 5);
const kib = 1024;
let folder: string;
let path: string;
let opened: OpenSegment[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'redo-'));
  path = join(folder, 'instance-1.db');
  opened = [];
});
afterEach(() => {
  for (const segment of opened) closeSegment(segment);
  rmSync(folder, { recursive: true, force: true });
});

function segmentsOf(...sizes: number[]): OpenSegment[] {
  return sizes.map((bytes, number) => {
    fillSegment(path, beginSegment(path, { number, bytes }));
    return reopen({ number, bytes });
  });
}

function reopen(row: { number: number; bytes: number }): OpenSegment {
  const segment = openSegment(path, row);
  opened.push(segment);
  return segment;
}

const newLog = (segments: readonly OpenSegment[]): RedoLog =>
  new RedoLog({ logId, segments, lastTurn: 0, end: logStart.end });

function groupOf(bytes: number, tableWrites: TableWrite[] = [], fill = 7): LoggedGroup {
  const buffer = new SharedArrayBuffer(bytes + 100); // as after a larger group: only a part is used
  Buffer.from(buffer).fill(fill, 0, bytes);
  return {
    buffer,
    blocks: [
      { partition: 3, firstSeq: 2 ** 40, count: 2, offset: 0, length: bytes - 4, keepsConsumed: false },
    ],
    consumptionDeltas: [{ partition: 2, subscriber: 1, offset: bytes - 4, length: 4 }],
    outcomes: { offset: bytes, length: 0, retiredThroughGroup: 0 },
    tableWrites,
    poolChanges: { create: [], assign: [], truncate: [] },
  };
}

function append(log: RedoLog, group: number, content: LoggedGroup): boolean {
  return log.append({ group, requiresApplied: 0, isDurable: true, content });
}

/** The numbers of all groups that a recovery would find from the log's start. */
function groupsIn(segments: readonly OpenSegment[]): number[] {
  const reader = new LogReader(logId, segments, logStart);
  const found: number[] = [];
  for (let record = reader.next(); record !== undefined; record = reader.next()) found.push(record.group);
  return found;
}

const bytesOf = ({ buffer }: LoggedGroup, length: number) => Buffer.from(buffer).subarray(0, length);

describe('a redo log', () => {
  it('gives back each group as it was written', () => {
    const word = fc.nat({ max: 2 ** 32 - 1 });
    const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    const body = fc.uint8Array({ maxLength: 3_000 });
    const group = fc.record({
      body,
      words: fc.array(word, { maxLength: 40 }),
      numbers: fc.array(number, { minLength: 3, maxLength: 9 }),
    });
    const segments = segmentsOf(512 * kib);
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 8 }), (drawn) => {
        const log = newLog(segments);
        const groups = drawn.map(({ body, words, numbers }): LoggedGroup => {
          const buffer = new SharedArrayBuffer(body.length);
          new Uint8Array(buffer).set(body);
          return {
            buffer,
            blocks: words.map((partition, at) => ({
              partition,
              firstSeq: numbers[at % 3]!,
              count: at,
              offset: 0,
              length: body.length,
              keepsConsumed: at % 2 === 1,
            })),
            consumptionDeltas: words.map((subscriber, at) => ({
              partition: at,
              subscriber,
              offset: 0,
              length: body.length,
            })),
            outcomes: { offset: 0, length: body.length, retiredThroughGroup: numbers[1]! },
            tableWrites: words.length % 2 === 0 ? [] : [{ kind: 'unsubscribe', subscriber: words[0]! }],
            poolChanges: { create: words.length % 3 === 0 ? words : [], assign: [], truncate: [] },
          };
        });
        for (const [index, content] of groups.entries()) expect(append(log, index + 1, content)).toBe(true);
        const reader = new LogReader(logId, segments, logStart);
        for (const [index, expected] of groups.entries()) {
          const record = reader.next()!;
          expect(record.group).toBe(index + 1);
          const { buffer, ...rest } = decodeGroup(record.content);
          const { buffer: _, ...expectedRest } = expected;
          expect(rest).toEqual(expectedRest);
          // Bytes that nothing refers to are not written.
          const used =
            expected.blocks.length > 0 || expected.outcomes.length > 0 ? expected.buffer.byteLength : 0;
          expect(Buffer.from(buffer)).toEqual(bytesOf(expected, used));
        }
        expect(reader.next()).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  it('goes through its segments again and again while what they have is applied', () => {
    const segments = segmentsOf(16 * kib, 16 * kib, 16 * kib);
    const log = newLog(segments);
    const reader = new LogReader(logId, segments, logStart);
    for (let group = 1; group <= 200; group += 1) {
      expect(append(log, group, groupOf(1_500 + (group % 5) * 700, [], group % 251))).toBe(true);
      if (group % 4 !== 0) continue;
      reader.refresh();
      for (let expected = group - 3; expected <= group; expected += 1) {
        const record = reader.next(group)!;
        expect(record.group).toBe(expected);
        expect(Buffer.from(decodeGroup(record.content).buffer)[0]).toBe(expected % 251);
      }
      expect(reader.next(group)).toBeUndefined();
      log.onApplied(group);
    }
    expect(reader.position.turn).toBeGreaterThan(20);
  });

  it('refuses a group while no segment is free, and takes it after one was applied or added', () => {
    const segments = segmentsOf(8 * kib, 8 * kib);
    const log = newLog(segments);
    let group = 1;
    while (append(log, group, groupOf(3_000))) group += 1;
    expect(groupsIn(segments)).toEqual(Array.from({ length: group - 1 }, (_, index) => index + 1));
    expect(append(log, group, groupOf(3_000))).toBe(false);
    log.onApplied(2); // of the first segment
    expect(append(log, group, groupOf(3_000))).toBe(true);
    const large = groupOf(20 * kib);
    log.onApplied(group);
    expect(append(log, group + 1, large)).toBe(false);
    const bytes = RedoLog.segmentBytesFor(large);
    fillSegment(path, beginSegment(path, { number: 2, bytes }));
    const added = reopen({ number: 2, bytes });
    segments.push(added);
    log.add(added);
    expect(append(log, group + 1, large)).toBe(true);
    const reader = new LogReader(logId, segments, logStart);
    expect(reader.next()).toBeUndefined(); // the first turn was written over
  });

  it('is not continued by records of an earlier turn, or by a payload that is a copy of a log', () => {
    const segments = segmentsOf(16 * kib, 16 * kib);
    const log = newLog(segments);
    for (let group = 1; group <= 3; group += 1) append(log, group, groupOf(2_000));
    const copy = readFileSync(segmentPath(path, 0)).subarray(0, 6_000);
    const inBody = groupOf(8_000);
    Buffer.from(inBody.buffer).set(copy, 0);
    append(log, 4, inBody);
    expect(groupsIn(segments)).toEqual([1, 2, 3, 4]);
    log.onApplied(4);
    append(log, 5, groupOf(9_000)); // into the second segment
    log.onApplied(5);
    append(log, 6, groupOf(9_000)); // over the first
    const reader = new LogReader(logId, segments, { turn: 2, offset: 9_728, end: endOf(segments, 5) });
    expect(reader.next()?.group).toBe(6);
    expect(reader.next()).toBeUndefined();
    expect(highestClaim(logId, segments)).toBe(0);
  });

  it.each([
    ['is still there', 0],
    ['was begun anew', 1],
  ])('is read past a segment that an opening began and left without a record, which %s', (_, first) => {
    const segments = segmentsOf(16 * kib, 16 * kib);
    const [one, other] = [segments[first]!, segments[1 - first]!];
    const log = newLog([one]);
    for (let group = 1; group <= 3; group += 1) append(log, group, groupOf(600));
    const applied = new LogReader(logId, segments, logStart);
    while (applied.next() !== undefined);
    const end = endOf(segments, 3);
    const turn = 2;
    writeSync(other.descriptor, encodeSegmentHeader(logId, { turn, predecessor: end }), 0, 512, 0);
    // What the tables know is still the position before that segment.
    const next = new RedoLog({ logId, segments, lastTurn: turn, end });
    append(next, 11, groupOf(600));
    const reader = new LogReader(logId, segments, applied.position);
    expect([reader.next()?.group, reader.next()]).toEqual([11, undefined]);
  });

  it('ends before a record whose predecessor the tables must have and lack', () => {
    const segments = segmentsOf(64 * kib);
    const log = newLog(segments);
    append(log, 1, groupOf(600));
    expect(log.append({ group: 3, requiresApplied: 2, isDurable: true, content: groupOf(600) })).toBe(true);
    append(log, 4, groupOf(600));
    const reader = new LogReader(logId, segments, logStart, 1);
    expect([reader.next()?.group, reader.next()]).toEqual([1, undefined]);
    expect(() => reader.assertNoneRequired(path)).toThrow(
      expect.objectContaining({ code: 'COMMITS_MISSING', details: { path, found: 1, acknowledged: 2 } }),
    );
    reader.inTables = 2;
    expect([reader.next()?.group, reader.next()?.group, reader.next()]).toEqual([3, 4, undefined]);
    reader.assertNoneRequired(path);
  });

  it('says through which group it was synced', () => {
    const segments = segmentsOf(64 * kib);
    const log = newLog(segments);
    append(log, 1, groupOf(600));
    log.sync();
    append(log, 2, groupOf(600));
    append(log, 3, groupOf(600));
    expect(highestClaim(logId, segments)).toBe(1);
    log.sync();
    expect(log.syncedThrough).toBe(3);
    append(log, 4, groupOf(600));
    expect(highestClaim(logId, segments)).toBe(3);
    expect(log.syncs).toBe(2);
  });
});

function endOf(segments: readonly OpenSegment[], group: number) {
  for (const { number, bytes } of segments) {
    const content = readFileSync(segmentPath(path, number));
    for (let at = 512; at < bytes; at += 512)
      if (content.readUInt32LE(at) === 0x31524c52 && content.readDoubleLE(at + 8) === group)
        return { group, crc: content.readUInt32LE(at + 48) };
  }
  throw new Error(`no record has group ${group}`);
}

describe('damage', () => {
  /** Groups of different sizes over two segments, synced after every second one but the last. `claims[g - 1]`: what group g says. */
  function damagable() {
    const segments = segmentsOf(8 * kib, 8 * kib);
    const log = newLog(segments);
    const next = random(3);
    const claims: number[] = [];
    for (let group = 1; group <= 12; group += 1) {
      const claim = log.syncedThrough;
      if (!append(log, group, groupOf(200 + Math.floor(next() * 1_500), [], group))) break;
      claims.push(claim);
      if (group % 2 === 0) log.sync();
    }
    return { segments, claims };
  }

  function write(segment: number, at: number, bytes: Uint8Array): void {
    const descriptor = openSync(segmentPath(path, segment), 'r+');
    writeSync(descriptor, bytes, 0, bytes.length, at);
    closeSync(descriptor);
  }

  /**
   * What is found is a beginning of what was written. That it lacks a synced group is said if a whole record behind it knows: those up
   * to `wholeThrough`.
   */
  function assertNoticed(
    segments: readonly OpenSegment[],
    { claims, wholeThrough, what }: { claims: readonly number[]; wholeThrough: number; what: string },
  ): { found: number; isReported: boolean } {
    const groups = groupsIn(segments);
    const found = groups.length;
    expect(groups, what).toEqual(Array.from({ length: found }, (_, index) => index + 1));
    expect(found, what).toBeLessThanOrEqual(claims.length);
    // The record behind the end is the damaged one.
    const known = Math.max(0, ...claims.slice(found + 1, wholeThrough));
    const isReported = known > found;
    const check = () => assertClaimMet(path, highestClaim(logId, segments), found);
    if (isReported) expect(check, what).toThrow(expect.objectContaining({ code: 'COMMITS_MISSING' }));
    else check();
    return { found, isReported };
  }

  it('at any byte is an end where nothing behind it claims more, and reported elsewhere', () => {
    const { segments, claims } = damagable();
    expect(claims.length).toBeGreaterThan(8);
    const originals = segments.map(({ number }) => readFileSync(segmentPath(path, number)));
    let [silent, reported] = [0, 0];
    for (const [number, original] of originals.entries()) {
      for (let at = 0; at < original.length; at += 3) {
        write(number, at, Buffer.from([original[at]! ^ (1 << (at % 8))]));
        const what = `segment ${number}, byte ${at}`;
        const { found, isReported } = assertNoticed(segments, { claims, wholeThrough: claims.length, what });
        if (isReported) reported += 1;
        else if (found < claims.length) silent += 1;
        write(number, at, original.subarray(at, at + 1));
      }
    }
    expect(groupsIn(segments)).toHaveLength(claims.length);
    expect(reported).toBeGreaterThan(1_000);
    expect(silent).toBeGreaterThan(100); // in the last groups, of which no record says that they were synced
  });

  it('by zeroes from any byte on leaves a beginning', () => {
    const { segments, claims } = damagable();
    const originals = segments.map(({ number }) => readFileSync(segmentPath(path, number)));
    let shortest = claims.length;
    for (const [number, original] of originals.entries()) {
      for (let at = original.length - 1; at >= 0; at -= 31) {
        const cut = Buffer.concat([original.subarray(0, at), Buffer.alloc(original.length - at)]);
        writeFileSync(segmentPath(path, number), cut);
        const what = `segment ${number} from byte ${at}`;
        // A cut of the last segment leaves nothing behind it; one of the first leaves the second as it was.
        const wholeThrough = number === 0 ? claims.length : 0;
        shortest = Math.min(shortest, assertNoticed(segments, { claims, wholeThrough, what }).found);
      }
      writeFileSync(segmentPath(path, number), original);
    }
    expect(shortest).toBe(0);
  });

  it('of a file that is gone or shorter is reported when it is opened', () => {
    segmentsOf(16 * kib);
    writeFileSync(segmentPath(path, 0), Buffer.alloc(8 * kib));
    const missing = expect.objectContaining({ code: 'COMMITS_MISSING' });
    expect(() => openSegment(path, { number: 0, bytes: 16 * kib })).toThrow(missing);
    expect(() => openSegment(path, { number: 1, bytes: 16 * kib })).toThrow(missing);
  });
});

it('takes a group of the largest transaction', () => {
  const content = groupOf(limits.transactionBytesMax);
  const bytes = RedoLog.segmentBytesFor(content);
  const segments = segmentsOf(bytes);
  const log = newLog(segments);
  expect(append(log, 1, content)).toBe(true);
  expect(groupsIn(segments)).toEqual([1]);
});
