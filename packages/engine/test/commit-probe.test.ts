/** The commit by which an instance shows that it can commit. */
import { describe, expect, it } from 'vitest';
import { QueueError } from '../src/api/errors.ts';
import { limits } from '../src/api/limits.ts';
import { CommitProbe } from '../src/monitoring/commit-probe.ts';
import { openTestInstance } from './folder.ts';
import { Chance, drainPromises, Scheduler, SimulatedPorts } from './simulator/scheduler.ts';

/** A probe with a writer whose answers the test gives. */
function makeProbe({ freeBytes = Number.POSITIVE_INFINITY } = {}) {
  const scheduler = new Scheduler();
  const writes: PromiseWithResolvers<void>[] = [];
  const probe = new CommitProbe({
    epoch: 1,
    ports: new SimulatedPorts(scheduler, new Chance(1)),
    group: {
      write: () => {
        writes.push(Promise.withResolvers());
        return writes.at(-1)!.promise;
      },
    },
    instanceSample: () => ({ instance: 1, commits: 0, groups: 0, cacheBytes: 0, cacheBytesMax: 0 }),
    freeDiskBytes: async () => freeBytes,
    assertFilesInPlace: async () => undefined,
  });
  const pass = async (ms: number) => {
    const untilMs = scheduler.nowMs + ms;
    while (scheduler.runNext(untilMs)) await drainPromises();
    scheduler.moveTo(untilMs);
  };
  return { probe, writes, pass };
}

describe('a probe commit', () => {
  it('is shared by concurrent calls and by later ones within a second', async () => {
    const { probe, writes, pass } = makeProbe();
    const calls = [probe.run(), probe.run(), probe.run()];
    expect(writes).toHaveLength(1);
    writes[0]!.resolve();
    await Promise.all(calls);
    await pass(limits.probeReuseMs - 1);
    await probe.run();
    expect(writes).toHaveLength(1);
    await pass(1);
    const next = probe.run();
    writes[1]!.resolve();
    await next;
    expect(writes).toHaveLength(2);
  });

  it('fails for a second after a failed commit, and then tries another one', async () => {
    const { probe, writes, pass } = makeProbe();
    const first = probe.run();
    writes[0]!.reject(new QueueError('STORAGE_FULL'));
    await expect(first).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await expect(probe.run()).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await pass(limits.probeReuseMs);
    const next = probe.run();
    writes[1]!.resolve();
    await expect(next).resolves.toBeUndefined();
  });

  it('fails after its deadline, and gives a hanging writer no more work', async () => {
    const { probe, writes, pass } = makeProbe();
    for (let calls = 0; calls < 3; calls += 1) {
      const answer = expect(probe.run()).rejects.toMatchObject({ code: 'PROBE_TIMEOUT' });
      await pass(limits.probeMsMax);
      await answer;
    }
    expect(writes).toHaveLength(1);
    writes[0]!.resolve();
    await expect(probe.run()).resolves.toBeUndefined();
  });

  it('fails if the disk has no room for further groups, even though its own commit succeeded', async () => {
    const { probe, writes } = makeProbe({ freeBytes: limits.diskFreeBytesMin - 1 });
    const call = probe.run();
    writes[0]!.resolve();
    await expect(call).rejects.toMatchObject({
      code: 'STORAGE_FULL',
      details: { freeBytes: limits.diskFreeBytesMin - 1, freeBytesMin: limits.diskFreeBytesMin },
    });
  });

  it('requires room for as many groups as can be in flight', () => {
    expect(limits.diskFreeBytesMin).toBeGreaterThanOrEqual(limits.groupsInFlightMax * limits.groupBytesMax);
  });

  it('is written by the instance, and refused once the instance has ended', async () => {
    const instance = await openTestInstance();
    const before = instance.stats().groups;
    await Promise.all([instance.probe(), instance.probe()]);
    expect(instance.stats().groups).toBe(before + 1);
    expect(instance.stats().commits).toBe(0);
    expect(instance.unhealthyReason()).toBeUndefined();
    await instance.close();
    await expect(instance.probe()).rejects.toMatchObject({ code: 'INSTANCE_CLOSED' });
    expect(instance.unhealthyReason()).toMatchObject({ code: 'INSTANCE_CLOSED' });
  });
});
