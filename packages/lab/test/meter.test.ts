import { logFileSync, WaitRecorder } from '@shardlab/engine';
import { expect, test } from 'vitest';
import type { Host } from '../src/programs/queue/trial/host.ts';
import { Meter } from '../src/programs/queue/trial/meter.ts';

test('the waits of a window cover exactly its time, even if reading the statistics takes long', () => {
  let nowMs = 0;
  let statisticsMs = 40;
  const clock = () => nowMs;
  const waits = new WaitRecorder({ clock: { monotonicMs: clock } });
  const statistics = () => {
    nowMs += statisticsMs;
    return 0;
  };
  const host = { id: 1, waits, shards: () => [], syncs: statistics, writerCpuUs: statistics };
  const sessions = [1, 2].map((number) => waits.openSession(number));
  const meter = new Meter(host as unknown as Host, clock);
  for (const session of sessions) {
    session.resume();
    session.begin(logFileSync);
  }
  meter.beginWindow();
  nowMs += 200;
  meter.halveWindow();
  // The last reading is quick, so that it cannot compensate for time that the first one lost.
  statisticsMs = 0;
  nowMs += 200;
  meter.endWindow();
  const { ms, waits: during, times } = meter.window();
  const waitedMs = during.find(({ event }) => event === logFileSync.name)!.totalMs;
  expect(waitedMs / ms, 'sessions that wait').toBeCloseTo(2);
  expect(times.elapsedMs / ms, 'sessions there are').toBeCloseTo(2);
});
