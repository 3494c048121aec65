import type { RunEvent } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { EventLog } from '../src/runs/event-log.ts';

const progress = (done: number): RunEvent => ({
  type: 'progress',
  progress: { done, total: 9, etaMs: null },
});
const idsOf = (frames: string[] | undefined) =>
  frames?.map((frame) => Number(/^id: (\d+)$/m.exec(frame)![1]));

describe('the event log', () => {
  it('returns all events after an id, as frames', () => {
    const log = new EventLog({ countMax: 10, bytesMax: 10_000, idBefore: 0 });
    for (let done = 0; done < 3; done++) log.append(progress(done));
    expect(log.lastId).toBe(3);
    expect(idsOf(log.since(0))).toEqual([1, 2, 3]);
    expect(idsOf(log.since(2))).toEqual([3]);
    expect(log.since(3)).toEqual([]);
    expect(log.since(2)).toEqual([`id: 3\nevent: progress\ndata: ${JSON.stringify(progress(2))}\n\n`]);
  });

  it('returns nothing for an id whose next events are gone, or that was never used', () => {
    const log = new EventLog({ countMax: 3, bytesMax: 10_000, idBefore: 0 });
    for (let done = 0; done < 10; done++) log.append(progress(done));
    expect(log.since(6)).toBeUndefined();
    expect(idsOf(log.since(7))).toEqual([8, 9, 10]);
    expect(log.since(11)).toBeUndefined();
    expect(log.since(Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });

  it('does not mistake an id of an earlier log for one of its own', () => {
    const log = new EventLog({ countMax: 10, bytesMax: 10_000, idBefore: 1_000 });
    for (let done = 0; done < 5; done++) log.append(progress(done));
    expect(log.since(3)).toBeUndefined();
    expect(idsOf(log.since(1_000))).toEqual([1_001, 1_002, 1_003, 1_004, 1_005]);
  });

  it('is bounded in bytes too', () => {
    const log = new EventLog({ countMax: 1000, bytesMax: 500, idBefore: 0 });
    for (let done = 0; done < 100; done++) log.append(progress(done));
    const kept = log.since(95);
    expect(kept?.join('').length).toBeLessThanOrEqual(500);
    expect(log.since(50)).toBeUndefined();
  });
});
