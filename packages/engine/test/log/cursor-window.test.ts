import { expect, it } from 'vitest';
import type { CursorLog } from '../../src/log/cursor-log.ts';
import { CursorWindow } from '../../src/log/message-cache.ts';

it('reads nothing below the watermark, whether or not runs are left in memory (simulator seed 348)', () => {
  const log = { persistent: true, committedEndSeq: 20, retainCached: () => {} } as unknown as CursorLog;
  const window = new CursorWindow(log, 1);
  const buffer = Buffer.alloc(40);
  window.addReadRuns(
    [{ firstSeq: 1, count: 4, buffer, start: 0, end: 40, fromDisk: true, retainCount: 0 }],
    5,
  );

  expect(window.nextReadSeq(1)).toBe(5);
  // The partition with the numbers 5 to 8 has been truncated meanwhile.
  expect(window.nextReadSeq(9)).toBe(9);
});
