/** Small real trials of the program `xa`: calls, syncs, waits, and that every message arrives. */
import { explainedShare, type Scenario } from '@shardlab/contract';
import { parseScenario } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { syncTimesOf } from '../src/programs/xa/xa-params.ts';
import { programScenario, runFirstTrial, wholeAndDrained } from './program-runs.ts';

const messagesPerSession = 6;

const scenarioOf = (
  system: string,
  { sessions, ...parameters }: { sessions: number } & Record<string, string | number>,
): Scenario =>
  programScenario({
    study: 'xa',
    program: 'xa',
    systems: [system],
    parameters: { messagesPerSession, ...parameters },
    sweep: { sessions: [sessions] },
    phases: { warmupMs: 0, measureMs: 100, drainMs: 0 },
  });

const runTrial = (...of: Parameters<typeof scenarioOf>) => runFirstTrial(scenarioOf(...of));

const twoBranches = { transaction: 'two-branches', sessions: 2 } as const;

describe('the program xa', () => {
  it('commits two branches on one instance with nine calls, one of which answers read-only', async () => {
    const { figures, integrity, sessionWaits, sequence, provenance } = await runTrial('xa-embedded', {
      ...twoBranches,
      instances: 1,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(provenance).toBe('measured');
    expect(figures).toMatchObject({
      callsPerTransaction: 9,
      roundTripsPerTransaction: 9,
      readOnlyPerTransaction: 1,
      syncsPerTransaction: 2,
      inDoubt: 0,
    });
    expect(sequence!.map(({ name }) => name)).toEqual([
      'coordinator',
      'branch 1: session 1 on instance 1',
      'branch 2: session 2 on instance 1',
    ]);
    expect(sequence![0]!.calls.map(({ name }) => name)).toEqual(['work', 'prepare', 'commit']);
    const calls = sequence!.slice(1).flatMap((lane) => lane.calls.map(({ name }) => name));
    const times = (name: string) => calls.filter((call) => call === name).length;
    expect(['xa_start', 'enqueue', 'xa_end', 'xa_prepare', 'xa_commit'].map(times)).toEqual([2, 2, 2, 2, 1]);
    const syncs = sessionWaits!.flatMap(({ rows }) => rows.filter(({ event }) => event === 'log file sync'));
    expect(syncs.reduce((sum, { waits }) => sum + waits, 0)).toBe(2 * messagesPerSession);
    expect(sessionWaits!.reduce((sum, { roundTrips }) => sum + roundTrips!, 0)).toBe(9 * messagesPerSession);
    for (const { cpuOf, instanceCpuMs } of sessionWaits!)
      expect([cpuOf, instanceCpuMs]).toEqual(['client and engine', undefined]);
  });

  it('commits two branches on two instances, served by other processes, with ten calls', async () => {
    const { figures, integrity, sessionWaits } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 2,
      work: 'dequeue',
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({
      callsPerTransaction: 10,
      roundTripsPerTransaction: 10,
      readOnlyPerTransaction: 0,
      syncsPerTransaction: 4,
      inDoubt: 0,
    });
    const [one, two] = sessionWaits!;
    expect([one!.calls! + two!.calls!, one!.cpuOf, two!.cpuOf]).toEqual([
      10 * messagesPerSession,
      'client',
      'client',
    ]);
    // The CPU time of the transactions is the sum of both instances; each session has half of it.
    expect(one!.instanceCpuMs! + two!.instanceCpuMs!).toBeCloseTo(
      (figures.cpuUsPerTransaction! * messagesPerSession) / 1_000,
    );
  });

  it('ships the work of the other instance if branches are tightly coupled: nine round trips, and one branch at a time', async () => {
    const { figures, integrity, waits } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 2,
      coupling: 'tight-branches',
      interconnectMs: 2,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({
      callsPerTransaction: 9,
      roundTripsPerTransaction: 9,
      readOnlyPerTransaction: 1,
      syncsPerTransaction: 2,
      activeTogetherShare: 0,
      preparesPassedOn: 0,
      inDoubt: 0,
    });
    // At least the start, the flush or end, and the prepare of the branch are messages to the home instance.
    expect(figures.lockWaitsPerTransaction).toBeGreaterThanOrEqual(3);
    expect(figures.lockMsPerTransaction).toBeGreaterThanOrEqual(3 * 2 * 0.9);
    expect(waits.find(({ event }) => event === 'global transaction lock')).toMatchObject({ emulated: true });
  });

  it('needs nine round trips on one instance too if tightly coupled branches are prepared at the same time', async () => {
    const { figures, integrity } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 1,
      coupling: 'tight',
      work: 'dequeue',
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({ roundTripsPerTransaction: 9, readOnlyPerTransaction: 1, inDoubt: 0 });
  });

  it.each([
    ['on one instance', { instances: 1 }, { roundTripsPerTransaction: 9, syncsPerTransaction: 2 }],
    [
      'on the home instance of tightly coupled branches',
      { instances: 2, coupling: 'tight' },
      { roundTripsPerTransaction: 9, readOnlyPerTransaction: 1, syncsPerTransaction: 2 },
    ],
    [
      'in two files, where each instance has tables',
      { instances: 2 },
      { roundTripsPerTransaction: 10, readOnlyPerTransaction: 0, syncsPerTransaction: 4 },
    ],
  ])('inserts a row and enqueues a message in each branch: rows %s', async (_, params, figuresExpected) => {
    const { figures, integrity, sequence } = await runTrial('xa-remote', {
      ...twoBranches,
      ...params,
      work: 'insert',
    });
    expect(integrity).toEqual(wholeAndDrained); // the trial fails unless each message has its row
    expect(figures).toMatchObject({ ...figuresExpected, inDoubt: 0 });
    expect(sequence!.slice(1).map(({ calls }) => calls[1]!.name)).toEqual([
      'insert, enqueue',
      'insert, enqueue',
    ]);
  });

  it('inserts rows in local transactions on two instances, each with tables', async () => {
    const { figures, integrity } = await runTrial('xa-embedded', {
      transaction: 'local',
      sessions: 2,
      instances: 2,
      work: 'insert',
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({ callsPerTransaction: 2, syncsPerTransaction: 1 });
  });

  it('marks emulated figures, and can prepare in the other session, whose instance passes the call on', async () => {
    const { figures, integrity, provenance, waits } = await runTrial('xa-embedded', {
      ...twoBranches,
      instances: 2,
      preparedBy: 'other',
      roundTripMs: 2,
      syncMs: 5,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(provenance).toBe('emulated');
    expect(figures).toMatchObject({ callsPerTransaction: 10, preparesPassedOn: 2, inDoubt: 0 });
    const emulated = (name: string) => waits.find(({ event }) => event === name)?.emulated;
    expect([emulated('client round trip'), emulated('log file sync')]).toEqual([true, true]);
  });

  it('passes on the prepares and the commit of tightly coupled branches, with nine round trips as before', async () => {
    const { figures, integrity, waits } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 2,
      coupling: 'tight',
      work: 'insert',
      preparedBy: 'other',
      interconnectMs: 2,
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({
      roundTripsPerTransaction: 9,
      readOnlyPerTransaction: 1,
      preparesPassedOn: 2,
      inDoubt: 0,
    });
    const passedOn = waits.find(({ event }) => event === 'passed-on call');
    expect(passedOn).toMatchObject({ emulated: true, waits: 3 * messagesPerSession });
  });

  it('connects to the instance of the branch if that instance has a folder of its own', async () => {
    const { figures, integrity } = await runTrial('xa-embedded', {
      ...twoBranches,
      instances: 2,
      work: 'insert',
      preparedBy: 'other',
    });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({ callsPerTransaction: 10, preparesPassedOn: 0 });
  });

  it.each([
    ['local', 2],
    ['one-branch', 4],
  ] as const)('makes %s transactions with %i calls', async (transaction, calls) => {
    const { figures, integrity } = await runTrial('xa-embedded', { transaction, instances: 1, sessions: 1 });
    expect(integrity).toEqual(wholeAndDrained);
    expect(figures).toMatchObject({ callsPerTransaction: calls, syncsPerTransaction: 1 });
  });

  it('refuses an odd number of sessions for two branches', () => {
    const scenario = scenarioOf('xa-embedded', { ...twoBranches, sessions: 3, instances: 1 });
    expect(parseScenario(scenario)).toMatchObject({ ok: false, faults: [{ path: '/sweep/sessions' }] });
  });
});

/** The hardware that scenarios of the document emulate, and what each of its runs does. */
const disk = { roundTripMs: 0.7, syncMs: 21.6, syncTimes: 'scattered' } as const;
const ssd = { roundTripMs: 1.2, syncMs: 0.72 } as const;
const local = { transaction: 'local', work: 'insert' } as const;
const tight = { ...twoBranches, work: 'insert', coupling: 'tight' } as const;
const documentRuns = {
  C1: { of: { ...local, instances: 1, sessions: 1 }, hardware: disk },
  C2: { of: { ...local, instances: 2, sessions: 2 }, hardware: disk },
  C3: { of: { ...local, instances: 2, sessions: 2 }, hardware: ssd },
  C4: { of: { ...tight, instances: 1 }, hardware: ssd },
  C5: { of: { ...tight, instances: 2 }, hardware: { ...ssd, interconnectMs: 4 } },
  C6: { of: { ...tight, instances: 2, preparedBy: 'other' }, hardware: { ...ssd, interconnectMs: 4 } },
} as const;

/** Each run of the document, embedded and remote, on this machine as it is and with the document's hardware emulated. */
const runs = Object.entries(documentRuns).flatMap(([name, { of, hardware }], number) =>
  (['xa-embedded', 'xa-remote'] as const).flatMap((system, place) => [
    { part: (number + place) % 2, run: [name, system, 'as the machine is', of] as const },
    {
      part: (number + place + 1) % 2,
      run: [name, system, 'with the hardware of the document', { ...of, ...hardware }] as const,
    },
  ]),
);
/** `npm run torture` has all of these; `npm test` has half: each run once embedded and once remote, on different hardware. */
const isTorture = process.env.SHARDLAB_SEED !== undefined;

/**
 * A trial takes less than a second, so that one pause of a busy machine can leave too much time unexplained. A wait that the program
 * does not name would be in every trial, so one trial with explained times is enough.
 */
const trialsMax = 3;
const isExplained = (share: number | null | undefined): boolean =>
  share != null && share > 0.95 && share < 1.01;

describe('the time of the sessions is explained by CPU, named waits and waiting for a thread', () => {
  it.each(runs.filter(({ part }) => isTorture || part === 0).map(({ run }) => run))(
    'in %s, %s, %s',
    async (_name, system, _hardware, params) => {
      let unexplained: unknown[] = [];
      for (let trial = 0; trial < trialsMax; trial += 1) {
        const { figures, sessionWaits } = await runTrial(system, { messagesPerSession: 20, ...params });
        // The elapsed time is measured on its own, so calls that name no wait event would be missing from the parts.
        const shares = [figures.timeAccounted, ...sessionWaits!.map(explainedShare)];
        unexplained = shares.filter((share) => !isExplained(share));
        if (unexplained.length === 0) return;
      }
      expect(unexplained).toEqual([]);
    },
  );
});

it('scattered sync times have the given mean, and the longest is 3.75 times the mean', () => {
  const times = syncTimesOf({ syncMs: 21.6, syncTimes: 'scattered' });
  const mean = times.reduce((sum, ms) => sum + ms, 0) / times.length;
  expect(mean).toBeCloseTo(21.6);
  expect(Math.max(...times) / mean).toBeCloseTo(3.75, 1);
  expect(syncTimesOf({ syncMs: 21.6, syncTimes: 'equal' })).toEqual([21.6]);
});
