/** Small real trials of the programs about listening: what they count, and that every message arrives. */
import { describe, expect, it, test } from 'vitest';
import { programScenario, runFirstTrial, wholeAndDrained } from './program-runs.ts';

/** Runs a scenario of one trial with these parameters, of which the first one is the sweep. */
function runTrial(
  program: string,
  params: Record<string, string | number>,
  { warmupMs, measureMs } = { warmupMs: 50, measureMs: 400 },
) {
  const [[name, value], ...rest] = Object.entries(params) as [
    [string, string | number],
    ...[string, string | number][],
  ];
  return runFirstTrial(
    programScenario({
      study: 'listen',
      program,
      systems: ['shared-topic'],
      parameters: Object.fromEntries(rest),
      sweep: { [name]: [value] },
      phases: { warmupMs, measureMs, drainMs: 20_000 },
    }),
  );
}

describe('the program listen', () => {
  it('counts gets and wake-ups of pairs that listen, and delivers each message once', async () => {
    const { figures, histograms, integrity, stated } = await runTrial('listen', {
      pairs: 3,
      method: 'listen',
      subscribers: 3,
      durability: 'memory',
      payloadBytes: 500,
      enqueuePauseMs: 1,
      copies: 2,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(stated).toBe('memory');
    for (const guard of ['mutex', 'latch']) {
      const of = (name: string) => figures[`${guard}${name}`]!;
      const histogram = histograms![`${guard}GetNs`]!.reduce((sum, count) => sum + count, 0);
      // Each dequeuer may have a get under way at each edge of the window.
      expect(
        Math.abs(of('Misses') - of('SpinGets') - of('Sleeps') + of('RecurrentSleeps')),
      ).toBeLessThanOrEqual(6);
      expect(Math.abs(histogram - of('Gets'))).toBeLessThanOrEqual(6);
    }
    expect(figures.falseWakeUpsPerDequeue ?? 0).toBeLessThanOrEqual(figures.wakeUpsPerDequeue ?? 0);
  });

  it.runIf(process.platform === 'linux').each(['listen', 'subscriber'])(
    'explains the time of each dequeuer by CPU, waits, idle and runnable time: %s',
    async (method) => {
      const { figures, waits, measuredMs } = await runTrial(
        'listen',
        { pairs: 4, method, subscribers: 4, durability: 'durable', enqueuePauseMs: 1 },
        // Threads load and compile their code during the warm-up.
        { warmupMs: 500, measureMs: 3_000 },
      );
      expect(figures.timeAccountedLeast).toBeGreaterThan(0.95);
      // Each part is measured on its own, so that they could also add up to more.
      expect(figures.timeAccounted).toBeGreaterThan(0.95);
      expect(figures.timeAccounted).toBeLessThan(1.05);
      expect(figures.timeOnCpu).toBeGreaterThan(0);
      const of = (name: string) => waits!.find(({ event }) => event === name)!;
      expect(of('instance call').waits).toBeGreaterThan(0);
      expect(of('instance commit').waits).toBeGreaterThan(0);
      const waited = waits!.filter((wait) => wait.class !== 'idle');
      const share = waited.reduce((sum, { totalMs }) => sum + totalMs, 0) / (4 * measuredMs);
      // Waits and figures of the point are both those of the dequeuers.
      expect(Math.abs(share - figures.timeWaiting!)).toBeLessThan(0.05);
    },
  );

  it('takes no latch where dequeuers name their subscriber', async () => {
    const { figures, integrity } = await runTrial('listen', {
      pairs: 2,
      method: 'subscriber',
      subscribers: 2,
      durability: 'relaxed',
      enqueuePauseMs: 0,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({ latchGets: 0, latchMisses: 0 });
    expect(figures.mutexGets).toBeGreaterThan(0);
  });
});

describe('the program listen-cases', () => {
  it.each([
    ['message-there', { locks: 2, pins: 3, latchGets: 3, mutexGets: 18 }],
    [
      'message-for-another',
      { wokenLatchGets: 7, wokenMutexGets: 24, latchGets: 15, mutexGets: 42, falseWakeUps: 1 },
    ],
    ['uncommitted-dequeue', { told: 1, dequeuedNothing: 1 }],
  ])('%s', async (name, expected) => {
    const { figures, integrity } = await runTrial('listen-cases', { case: name });
    expect(figures).toMatchObject(expected);
    expect(integrity).toEqual(wholeAndDrained);
  });
});

test('idle-polls: a listen polls every second, a dequeue by name every three', async () => {
  const { figures } = await runTrial('listen-cases', { case: 'idle-polls' });
  // A sleep may end late on a busy machine, but never early. The last sleep of a wait is cut to the time that is left.
  expect(figures.listenPollMs).toBeGreaterThan(950);
  expect(figures.dequeuePollMs).toBeGreaterThan(2_950);
  expect(figures.dequeuePollMs! / figures.listenPollMs!).toBeGreaterThan(2);
});

test('the program listen-herd records who was woken for one message, and when each held the mutex', async () => {
  const { figures, swimlanes, integrity } = await runTrial('listen-herd', { listeners: 3 });
  expect(integrity).toEqual(wholeAndDrained);
  expect(figures).toMatchObject({ woken: 3, wokenForNothing: 2 });
  const outcomes = swimlanes!.map(({ outcome }) => outcome).toSorted();
  expect(outcomes).toEqual(['got the message', 'posted', 'woke for nothing', 'woke for nothing']);
  for (const { outcome, spans } of swimlanes!) {
    const gets = (guard: string) => spans.filter(({ kind }) => kind === guard).length;
    // After the post each session that woke made two accesses, and the one that got the message made those of the dequeue too.
    if (outcome === 'woke for nothing') expect([gets('mutex'), gets('latch')]).toEqual([12, 6]);
    if (outcome === 'got the message') expect([gets('mutex'), gets('latch')]).toEqual([18, 8]);
    if (outcome === 'posted') expect(gets('latch')).toBe(1);
    for (const { calledUs, gotUs, endedUs } of spans) {
      expect(gotUs).toBeGreaterThanOrEqual(calledUs);
      expect(endedUs).toBeGreaterThanOrEqual(gotUs);
    }
  }
});
