/** Small real trials of the programs that load a system for a time. They check shape and integrity, never speed. */
import type { Params, Point, Scenario } from '@shardlab/contract';
import { parseScenario } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { closedLoop } from '../src/programs/load/closed-loop-program.ts';
import { openLoop } from '../src/programs/load/open-loop-program.ts';
import { standingBacklog } from '../src/programs/load/standing-backlog-program.ts';
import { expectTimeExplained, programScenario, runPoints, whole, wholeAndDrained } from './program-runs.ts';
import { measuredOnceMs } from './support.ts';

const scenario = (changes: Partial<Scenario> & { parameters: Params }): Scenario =>
  programScenario({
    study: 'peers',
    program: 'closed-loop',
    systems: ['sharded'],
    phases: { warmupMs: 50, measureMs: 300, drainMs: 5_000 },
    ...changes,
    parameters: { payloadBytes: 64, operationsPerTransaction: 10, ...changes.parameters },
  });

/** The systems whose points have traces of messages. */
const traced = (points: readonly Point[]) =>
  points.flatMap(({ system, traces }) => (traces === undefined ? [] : system));
/** Figures that may be missing on a busy machine, because no repeat was steady or no message was delivered in the window. */
const needsMessages = ['latencyP50Ms', 'latencyP99Ms', 'cpuUsPerMessage'];

describe('a closed loop', () => {
  it('measures each kind of system, embedded in one process and in two, and behind a socket', async () => {
    const systems = [
      'null',
      'sharded',
      'sharded-2',
      'sharded-remote-2',
      'sharded-prefetch',
      'unsharded',
      'plainjob',
    ];
    const points = await runPoints(scenario({ systems, parameters: { enqueuers: 3, dequeuers: 2 } }));
    expect(points.map(({ system }) => system)).toEqual(systems);
    const expected = ['enqueuePerSec', 'dequeuePerSec', 'eventLoopDelayP99Ms', 'residentMiB'];
    for (const point of points) {
      const { system, figures, integrity } = point;
      expect(integrity, system).toMatchObject(whole);
      expect(Object.keys(figures), system).toEqual(expect.arrayContaining(expected));
      expectTimeExplained(point);
    }
    const eventsOf = (system: string) =>
      points.find((point) => point.system === system)!.waits.map(({ event }) => event);
    expect(eventsOf('sharded')).toContain('log file sync');
    expect(eventsOf('sharded-prefetch')).toContain('server call');
    expect(eventsOf('plainjob')).toContain('library call');
    expect(traced(points)).toEqual(['sharded', 'sharded-2', 'sharded-prefetch']);
  }, 120_000);

  it('gives every message of a topic to each of its subscribers', async () => {
    const systems = ['sharded', 'sharded-prefetch', 'unsharded'];
    const points = await runPoints(
      scenario({ systems, parameters: { subscribers: 3, enqueuers: 2, dequeuers: 6 } }),
    );
    expect(points.map(({ system }) => system)).toEqual(systems);
    for (const { system, figures, integrity } of points) {
      expect(integrity, system).toMatchObject(wholeAndDrained);
      expect(figures.dequeuePerSec!.value, system).toBeGreaterThan(0);
    }
    expect(traced(points)).toEqual(['sharded', 'sharded-prefetch']);
  }, 120_000);

  it('accepts subscribers only for systems with topics, and only if they dequeue while others enqueue', () => {
    const topic = (parameters: Params, systems: string[]) =>
      parseScenario(scenario({ systems, parameters: { subscribers: 2, ...parameters } }));
    expect(topic({}, ['sharded', 'plainjob'])).toMatchObject({
      faults: [{ path: '/parameters/subscribers', message: 'plainjob has no topics' }],
    });
    expect(topic({ schedule: 'enqueue-then-dequeue' }, ['sharded'])).toMatchObject({
      faults: [{ path: '/parameters/subscribers', message: expect.stringContaining('at-once') }],
    });
  });

  it('enqueues first; then another process dequeues the messages', async () => {
    const [point] = await runPoints(
      scenario({
        parameters: { schedule: 'enqueue-then-dequeue', enqueuers: 1, dequeuers: 1 },
        probes: true,
      }),
    );
    expect(point!.integrity).toMatchObject(whole);
    // A busy machine may deliver nothing in the window, so that there is no cost of a message. This system has no server, and counts no
    // rows.
    const others = closedLoop.figures
      .map(({ name }) => name)
      .filter((name) => !['cpuUsPerMessage', 'serverCpuUsPerMessage', 'rowsPerMessage'].includes(name));
    expect(Object.keys(point!.figures)).toEqual(expect.arrayContaining(others));
    // The ratio is that of the enqueue rate, since other transactions limit the dequeue rate.
    const { enqueuePerSec, rawPerSec, rawRatio, logLoopPerSec, logLoopRatio } = point!.figures;
    expect(rawRatio!.value).toBeCloseTo(enqueuePerSec!.value / rawPerSec!.value, 3);
    expect(logLoopRatio!.value).toBeCloseTo(enqueuePerSec!.value / logLoopPerSec!.value, 3);
  }, 60_000);
});

describe('REST', () => {
  // Each process that answers calls compiles what checks them at the first one, which on a busy machine takes longer than the usual
  // window.
  const phases = { warmupMs: 600, measureMs: measuredOnceMs, drainMs: 5_000 };
  const loaded = (systems: string[], schedule: string) =>
    runPoints(scenario({ systems, phases, parameters: { schedule, enqueuers: 3, dequeuers: 2 } }));

  it('is measured for enqueues, with a route that only validates for comparison, on one instance and on two', async () => {
    const points = await loaded(['rest-validating', 'rest', 'rest-2'], 'enqueue');
    for (const { system, figures, integrity } of points) {
      expect(integrity, system).toMatchObject(whole);
      expect(integrity.left, system).toBeGreaterThan(0);
      expect(Object.keys(figures), system).toEqual(
        expect.arrayContaining(['enqueuePerSec', 'cpuUsPerMessage', 'serverCpuUsPerMessage']),
      );
      expect(figures.dequeuePerSec, system).toBeUndefined();
    }
    expect(points.map(({ stated }) => stated)).toEqual(['none', 'durability durable', 'durability durable']);
  }, 90_000);

  it('delivers each message once, also to another process, after or during the enqueues', async () => {
    const points = [
      ...(await loaded(['rest'], 'enqueue-then-dequeue')),
      ...(await loaded(['rest-2'], 'at-once')),
    ];
    for (const { system, integrity } of points) expect(integrity, system).toMatchObject(whole);
    for (const point of points) expectTimeExplained(point);
  }, 90_000);

  it('is refused with dequeues on the route that only validates', () => {
    const parsed = parseScenario(scenario({ systems: ['rest', 'rest-validating'], parameters: {} }));
    expect(parsed).toMatchObject({
      faults: [{ path: '/parameters/schedule', message: expect.stringContaining('keeps no message') }],
    });
  });
});

describe('an open loop', () => {
  it('sends at the rate that it is given', async () => {
    const points = await runPoints(
      scenario({
        program: 'open-loop',
        systems: ['sharded', 'sharded-remote'],
        parameters: { operationsPerTransaction: 1, messagesPerSec: 200, enqueuers: 4, dequeuers: 2 },
      }),
    );
    for (const point of points) {
      const { system, figures, integrity } = point;
      expect(integrity, system).toMatchObject(whole);
      expect(figures.offeredPerSec!.value).toBe(200);
      expectTimeExplained(point);
      expect(point.waits.map(({ event }) => event)).toContain('waiting for work');
      const others = openLoop.figures.map(({ name }) => name).filter((name) => !needsMessages.includes(name));
      expect(Object.keys(figures), system).toEqual(expect.arrayContaining(others));
    }
  }, 60_000);

  it('measures the maximum rate first, without emulated syncs, if it sends at a share of it', async () => {
    const [point] = await runPoints(
      scenario({
        program: 'open-loop',
        parameters: { shareOfMaximum: 0.1, emulatedSyncMs: 20, enqueuers: 8, dequeuers: 8 },
      }),
    );
    expect(point!.integrity).toMatchObject(whole);
    expect(point!.figures.dequeuePerSec).toMatchObject({ provenance: 'emulated' });
    expect(point!.figures.offeredPerSec!.value).toBeGreaterThan(0);
  }, 60_000);

  it('needs exactly one rate, and emulates syncs of our embedded queues only', () => {
    const open = (parameters: Params, systems = ['sharded']) =>
      parseScenario(scenario({ program: 'open-loop', systems, parameters }));
    expect(open({})).toMatchObject({ faults: [{ path: '/parameters/messagesPerSec' }] });
    expect(open({ messagesPerSec: 5, shareOfMaximum: 0.5 })).toMatchObject({
      faults: [{ message: expect.stringContaining('either') }],
    });
    expect(open({ messagesPerSec: 5, emulatedSyncMs: 1 }, ['sharded', 'plainjob'])).toMatchObject({
      faults: [{ path: '/parameters/emulatedSyncMs', message: 'The syncs of plainjob cannot be emulated' }],
    });
  });
});

describe('a standing backlog', () => {
  it('survives a kill of its process, and remains while other messages are enqueued and dequeued', async () => {
    const [point] = await runPoints(
      scenario({ program: 'standing-backlog', parameters: { backlog: 3_000, enqueuers: 2, dequeuers: 2 } }),
    );
    expect(point!.integrity).toMatchObject(whole);
    expect(point!.integrity.left).toBeGreaterThanOrEqual(2_000);
    expectTimeExplained(point!);
    const others = standingBacklog.figures
      .map(({ name }) => name)
      .filter((name) => name !== 'cpuUsPerMessage');
    expect(Object.keys(point!.figures)).toEqual(expect.arrayContaining(others));
  }, 60_000);

  it('is kept by the server if the client was killed', async () => {
    const [point] = await runPoints(
      scenario({
        program: 'standing-backlog',
        systems: ['sharded-remote'],
        parameters: { backlog: 3_000, enqueuers: 2, dequeuers: 2 },
      }),
    );
    expect(point!.integrity).toMatchObject(whole);
    expect(point!.integrity.left).toBeGreaterThanOrEqual(2_000);
    expect(point!.figures.readyAfterKillMs).toBeUndefined();
  }, 60_000);
});

describe('the raw limit', () => {
  it('is measured without any queue', async () => {
    const [point] = await runPoints({
      ...scenario({ program: 'raw-limit', systems: ['sqlite'], parameters: {} }),
      parameters: { payloadBytes: 64, operationsPerTransaction: 10, cycle: 'insert' },
    });
    expect(Object.keys(point!.figures)).toEqual(['rowsPerSec', 'cpuUsPerRow']);
  }, 30_000);
});
