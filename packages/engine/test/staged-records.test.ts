import fc from 'fast-check';
import { expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { newStagedRun, stageRecords } from '../src/commit/staged-transaction.ts';
import type { MessageLog } from '../src/log/message-log.ts';
import { recordByteLength, recordEnd, writeRecord } from '../src/model/message-record.ts';

/** Staging asks nothing of the log: numbers come when the group closes. */
const log = {} as MessageLog;

it('records that came as bytes are staged where they are, in order and in segments that fit a block', () => {
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat(200) }, fc.constantFrom(40_000, 131_072)), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.constantFrom(1, 600),
      (before, lengths, times) => {
        const payloads = lengths.flatMap((bytes) => Array(bytes > 200 ? 1 : times).fill(Buffer.alloc(bytes)));
        const { source, start, end } = encode(payloads, before);
        const run = newStagedRun(log);
        stageRecords(run, { source, start, end, count: payloads.length });
        expect(run.count).toBe(payloads.length);
        let at = start;
        for (const segment of run.segments) {
          expect(segment.buffer).toBe(source);
          expect(segment.start).toBe(at);
          let count = 0;
          for (; at < segment.end; count += 1) at = recordEnd(source, at);
          expect(segment.end).toBe(at);
          expect(segment.count).toBe(count);
          expect(count).toBeLessThanOrEqual(limits.blockMessagesMax);
          if (count > 1) expect(segment.end - segment.start).toBeLessThanOrEqual(limits.blockBytesMax);
        }
        expect(at).toBe(end);
      },
    ),
    { numRuns: 40 },
  );
});

function encode(payloads: readonly Buffer[], before: number): { source: Buffer; start: number; end: number } {
  const bytes = payloads.reduce((sum, payload) => sum + recordByteLength({ payload }), 0);
  const source = Buffer.alloc(before + bytes);
  let end = before;
  for (const payload of payloads) end = writeRecord(source, end, { payload }, { enqueuedAtMs: 1 });
  return { source, start: before, end };
}
