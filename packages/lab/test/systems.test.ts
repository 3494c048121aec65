/** Small real trials of the lab's systems, and what is said of a system that is not there. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Params, RunEvent, Scenario } from '@shardlab/contract';
import { bundledStudies, parseScenario, StudyRegistry, startRun } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runToCompletion } from '../src/programs/completion/completion-program.ts';
import { openRedisList } from '../src/systems/redis-list.ts';
import { redis } from '../src/systems/redis-server.ts';
import { missingServersOf, systemOf, systems } from '../src/systems/systems.ts';

const scenario = (changes: Partial<Scenario> & { parameters: Params }): Scenario => ({
  version: 2,
  id: 'small',
  title: 'A small scenario',
  question: 'Does it run?',
  study: 'redis-benchmark',
  claims: [],
  seed: 7,
  program: 'run-to-completion',
  systems: ['null'],
  sweep: {},
  phases: { warmupMs: 0, measureMs: 100, drainMs: 5_000 },
  repeats: 1,
  ...changes,
  parameters: { payloadBytes: 64, messages: 40, ...changes.parameters },
});

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const hasRedis = redis.version() !== null;
const present = systems.filter(({ server }) => server !== redis || hasRedis).map(({ info }) => info.id);

describe('a run to completion', () => {
  it('with each system loses, doubles and disorders nothing, and measures all figures', async () => {
    const measured = scenario({
      systems: present,
      parameters: { threads: 3, queues: 2, schedule: 'at-once' },
    });
    const run = await startRun({ scenario: measured, scale: 'full', dataDir });
    expect(run.error).toBeNull();
    expect(run.points.map(({ system }) => system)).toEqual(present);
    for (const { system, integrity, figures } of run.points) {
      expect(integrity, system).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
      expect(Object.keys(figures), system).toEqual(runToCompletion.figures.map(({ name }) => name));
    }
    expect(readdirSync(dataDir)).toEqual([]);
  }, 120_000);

  it('needs a thread for each queue', () => {
    const parsed = parseScenario(scenario({ parameters: { threads: 2 }, sweep: { queues: [1, 4] } }));
    expect(parsed).toMatchObject({
      faults: [{ path: '/sweep/queues', message: '4 queues need as many threads, not 2' }],
    });
  });
});

describe('flow control', () => {
  it('of a buffered queue refuses what is past the threshold and delivers the rest: B4 holds', async () => {
    const measured = scenario({
      program: 'flow-control',
      claims: ['B4'],
      systems: ['buffered', 'buffered-remote'],
      parameters: { messages: 60, messagesMax: 25 },
    });
    const run = await startRun({ scenario: measured, scale: 'full', dataDir });
    expect(run.points.map(({ figures }) => [figures.accepted!.value, figures.refused!.value])).toEqual([
      [25, 35],
      [25, 35],
    ]);
    expect(run.claims).toMatchObject([{ id: 'B4', verdict: 'holds' }]);
  }, 60_000);
});

describe.runIf(hasRedis)('Redis', () => {
  it.each([
    ['redis-snapshot', 'appendonly no, save 3600 1 300 100 60 10000'],
    ['redis-log-second', 'appendonly yes, appendfsync everysec'],
    ['redis-log-always-reliable', 'appendonly yes, appendfsync always'],
  ])('runs as %s with %s, on a private socket, until it is stopped', async (id, stated) => {
    const { server, durability } = systemOf(id);
    const dir = await mkdtemp(join(dataDir, 'redis-'));
    const started = await server!.start({ dir, socketDir: dir, durability, instances: 1 });
    const client = await openRedisList('plain')({
      dir,
      endpoints: started.endpoints,
      durability,
      process: 1,
      createsQueue: true,
      enqueuers: 0,
      dequeuers: 0,
      operations: 1,
      subscribers: 0,
      emulatedSyncMs: 0,
    });
    expect(client.stated).toBe(stated);
    await client.close();
    await started.stop();
    expect(existsSync(started.endpoints[0]!)).toBe(false);
    await rm(dir, { recursive: true });
  });
});

describe('a system whose server is not installed', () => {
  const absent = { ...redis, aptPackage: 'queue-server', version: () => null };
  const named = (id: string) => ({
    ...systemOf('redis-snapshot'),
    info: { ...systemOf(id).info },
    server: absent,
  });

  it('is named with the line that installs it', () => {
    expect(missingServersOf([systemOf('null'), named('redis-snapshot')])).toEqual([
      'redis-snapshot needs queue-server; Debian: apt-get install queue-server',
    ]);
    expect(missingServersOf([named('redis-snapshot'), named('redis-log-second')])).toEqual([
      'redis-snapshot, redis-log-second need queue-server; Debian: apt-get install queue-server',
    ]);
    expect(missingServersOf([systemOf('null'), systemOf('buffered-remote')])).toEqual([]);
  });

  it('ends the run before its first trial', async () => {
    const studies = new StudyRegistry(
      bundledStudies.studies.map((study) => ({
        ...study,
        programs: (study.programs ?? []).map((program) => ({
          ...program,
          missing: () => missingServersOf([named('redis-snapshot')]),
        })),
      })),
    );
    const events: RunEvent['type'][] = [];
    const run = await startRun({
      scenario: scenario({ parameters: {} }),
      scale: 'full',
      dataDir,
      studies,
      onEvent: ({ type }) => events.push(type),
    });
    expect(run).toMatchObject({
      status: 'failed',
      points: [],
      error: {
        code: 'SYSTEM_UNAVAILABLE',
        message: 'redis-snapshot needs queue-server; Debian: apt-get install queue-server',
      },
    });
    expect(events).not.toContain('progress');
  });
});
