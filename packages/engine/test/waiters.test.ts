/** Calls that wait for messages, in simulated time. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../src/index.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { Waiters } from '../src/queues/waiters.ts';
import { Chance, drainPromises, Scheduler, SimulatedPorts } from './simulator/scheduler.ts';

const message = { id: '1' } as Message;

function waitFor(waitMs: number, signal?: AbortSignal) {
  const scheduler = new Scheduler();
  const ports = new SimulatedPorts(scheduler, new Chance(1));
  const waiters = new Waiters<string>(new WaitRecorder({ clock: ports.clock }), ports);
  let outcome: Message[] | undefined;
  void waiters.wait('request', { waitMs, signal }).then((messages) => {
    outcome = messages;
  });
  const [waiter] = waiters;
  let untilMs = 0;
  const passed = async (ms: number) => {
    untilMs += ms;
    while (scheduler.runNext(untilMs));
    await drainPromises();
    return outcome;
  };
  return { waiter: waiter!, passed };
}

describe('a call that waits', () => {
  it('ends without messages when its time is over', async () => {
    const { waiter, passed } = waitFor(100);
    expect(await passed(99)).toBeUndefined();
    expect(await passed(1)).toEqual([]);
    expect(waiter.finish([message])).toBe(false);
  });

  it('gets messages that were still being read when its time was over', async () => {
    const { waiter, passed } = waitFor(100);
    waiter.expect();
    expect(await passed(500)).toBeUndefined();
    expect(waiter.finish([message])).toBe(true);
    expect(await passed(0)).toEqual([message]);
  });

  it('ends late if that read finds none, or waits for the rest of its time', async () => {
    const late = waitFor(100);
    late.waiter.expect();
    await late.passed(500);
    late.waiter.resume();
    expect(await late.passed(0)).toEqual([]);

    const early = waitFor(100);
    early.waiter.expect();
    await early.passed(50);
    early.waiter.resume();
    expect(await early.passed(49)).toBeUndefined();
    expect(await early.passed(1)).toEqual([]);
  });

  it('ends at once when it is aborted, even during a read', async () => {
    const abort = new AbortController();
    const { waiter, passed } = waitFor(100, abort.signal);
    waiter.expect();
    abort.abort();
    expect(await passed(0)).toEqual([]);
    expect(waiter.finish([message])).toBe(false);
  });
});
