/** Small real trials of the lab's systems, and what is reported of a system that is not installed. */
import { readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Params, RunEvent, Scenario } from '@shardlab/contract';
import { bundledStudies, parseScenario, StudyRegistry, startRun } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runToCompletion } from '../src/programs/completion/completion-program.ts';
import { isRootOnDebian } from '../src/systems/debian-packages.ts';
import { missingOf } from '../src/systems/missing.ts';
import { redis } from '../src/systems/redis-server.ts';
import { systemOf, systems } from '../src/systems/systems.ts';
import { expectTimeExplained } from './program-runs.ts';

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
  kills: false,
  ...changes,
  parameters: { payloadBytes: 64, messages: 40, ...changes.parameters },
});

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
  await chmod(dataDir, 0o711); // PostgreSQL runs as another user
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

/** The systems whose servers and client libraries are installed on this machine; only these are tested. */
const present = systems.filter((system) => system.instances === 1 && missingOf([system]).length === 0);
const named = (chosen: typeof present) => chosen.map(({ info }) => info.id);
const many = named(present.filter(({ queues }) => queues === 'several'));
const single = named(present.filter(({ queues }) => queues === 'one'));

/** How systems report their durability. */
const stated: Readonly<Record<string, string>> = {
  'redis-snapshot': 'appendonly no, save 3600 1 300 100 60 10000',
  'redis-log-second': 'appendonly yes, appendfsync everysec',
  'redis-log-always-reliable': 'appendonly yes, appendfsync always',
  'bullmq-log-always': 'appendonly yes, appendfsync always',
  'postgres-skip-locked': 'fsync on, synchronous_commit on',
  'pg-boss': 'fsync on, synchronous_commit on',
  'graphile-worker': 'fsync on, synchronous_commit on',
  'nats-jetstream': 'storage file, sync every 2 min',
  'jetstream-r1': 'replicas 1, sync every 2 min',
  'jetstream-r3-synced': 'replicas 3, sync always',
  plainjob: 'PRAGMA synchronous = 2',
  'plainjob-not-synced': 'PRAGMA synchronous = 1',
};

describe('a run to completion', () => {
  it.each([
    { queues: 2, measured: many },
    { queues: 1, measured: single },
  ])(
    'with each system loses, doubles and disorders nothing, and measures all figures: $queues of $measured',
    async ({ queues, measured }) => {
      const run = await startRun({
        scenario: scenario({ systems: measured, parameters: { threads: 3, queues, schedule: 'at-once' } }),
        scale: 'full',
        dataDir,
      });
      expect(run.error).toBeNull();
      expect(run.points.map(({ system }) => system)).toEqual(measured);
      for (const point of run.points) {
        const { system, integrity, figures, stated: said } = point;
        expectTimeExplained(point);
        expect(integrity, system).toMatchObject({
          lost: 0,
          duplicated: 0,
          damaged: 0,
          outOfOrder: 0,
          left: 0,
        });
        expect(Object.keys(figures), system).toEqual(runToCompletion.figures.map(({ name }) => name));
        const [client, withoutGenerator, generator] = [
          'clientCpuUsPerMessage',
          'clientCpuUsPerMessageWithoutGenerator',
          'generatorCpuUsPerMessage',
        ].map((name) => figures[name]!.value) as [number, number, number];
        expect(generator, system).toBeGreaterThan(0);
        expect(withoutGenerator, system).toBeLessThanOrEqual(client);
        expect(said, system).toBe(stated[system] ?? said);
        expect(said, system).toMatch(/./);
      }
      expect(readdirSync(dataDir)).toEqual([]);
    },
    120_000,
  );

  it('needs a thread for each queue', () => {
    const parsed = parseScenario(scenario({ parameters: { threads: 2 }, sweep: { queues: [1, 4] } }));
    expect(parsed).toMatchObject({
      faults: [{ path: '/sweep/queues', message: '4 queues need as many threads, not 2' }],
    });
  });

  it('is refused with two queues for a system that is measured with one', () => {
    const parsed = parseScenario(
      scenario({ systems: ['sharded', 'pg-boss'], parameters: { threads: 2, queues: 2 } }),
    );
    expect(parsed).toMatchObject({
      faults: [{ path: '/parameters/queues', message: 'pg-boss is measured with one queue, not 2' }],
    });
  });
});

describe('flow control', () => {
  it('of a buffered queue refuses messages past the threshold and delivers the others: B4 holds', async () => {
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

describe('a system that is not installed', () => {
  const absent = { ...redis, aptPackage: 'queue-server', version: () => null };
  const on = (id: string) => ({
    ...systemOf('redis-snapshot'),
    info: { ...systemOf(id).info },
    server: absent,
  });

  it('is named with the command that installs its server', () => {
    expect(missingOf([systemOf('null'), on('redis-snapshot')])).toEqual([
      'redis-snapshot needs queue-server; Debian: apt-get install queue-server',
    ]);
    expect(missingOf([on('redis-snapshot'), on('redis-log-second')])).toEqual([
      'redis-snapshot, redis-log-second need queue-server; Debian: apt-get install queue-server',
    ]);
    expect(missingOf([systemOf('null'), systemOf('buffered-remote')])).toEqual([]);
  });

  it('is not named before a run that can install it', () => {
    const lacking = missingOf([on('redis-snapshot')], { ignoreInstallable: true });
    expect(lacking).toHaveLength(isRootOnDebian() ? 0 : 1);
    const nats = { ...absent, aptPackage: null, install: 'a server; npm run server' };
    expect(missingOf([{ ...on('redis-snapshot'), server: nats }], { ignoreInstallable: true })).toHaveLength(
      1,
    );
  });

  it('is named with the command that installs its client library', () => {
    const bullmq = { ...systemOf('bullmq-log-always'), server: { ...redis, version: () => '7' } };
    expect(missingOf([bullmq], {}, () => false)).toEqual([
      'bullmq-log-always needs its client library; npm install --no-save --prefix packages/lab/peers --ignore-scripts',
    ]);
    expect(missingOf([bullmq], {}, () => true)).toEqual([]);
  });

  it('is named if the installed server is too old, or cannot use the folder', () => {
    const refusing = { ...absent, version: () => '1', refuses: () => 'version 2' };
    expect(missingOf([{ ...systemOf('redis-snapshot'), server: refusing }])).toEqual([
      'redis-snapshot needs version 2',
    ]);
    const picky = { ...absent, version: () => '1', refusesFolder: (folder: string) => `no ${folder}` };
    const system = { ...systemOf('redis-snapshot'), server: picky };
    expect(missingOf([system])).toEqual([]);
    expect(missingOf([system], { folder: '/here' })).toEqual(['redis-snapshot needs no /here']);
  });

  it('ends the run before its first trial', async () => {
    const studies = new StudyRegistry(
      bundledStudies.studies.map((study) => ({
        ...study,
        programs: (study.programs ?? []).map((program) => ({
          ...program,
          missing: () => missingOf([on('redis-snapshot')]),
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
