/** What a client process reports of itself over time, and what a run keeps of it to be replayed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunEvent, type Tick } from '@shardlab/contract';
import { WaitRecorder } from '@shardlab/engine';
import { startRun } from '@shardlab/lab';
import { Ajv } from 'ajv';
import { expect, onTestFinished, test } from 'vitest';
import { ClientSamples, type Sampled } from '../src/programs/completion/client-samples.ts';
import { ticksToReplay } from '../src/recorded/recorded-run.ts';
import { programScenario } from './program-runs.ts';

const isEvent = new Ajv({ strict: false }).compile(RunEvent);
const backlogOf = ({ instances }: Pick<Tick, 'instances'>) => instances[0]!.shards[0]!.backlog;

test('a sample has the rates since the last one and the backlog, and belongs to one phase', async () => {
  const counts = { enqueued: 0, consumed: 0 };
  const sampled: Sampled[] = [];
  const samples = new ClientSamples({
    waits: new WaitRecorder({ clock: { monotonicMs: () => performance.now() } }),
    counts: () => ({ ...counts }),
    emit: (each) => sampled.push(each),
  });
  const result = await samples.during(async () => {
    Object.assign(counts, { enqueued: 50, consumed: 20 });
    samples.beginMeasure();
    Object.assign(counts, { enqueued: 50, consumed: 50 });
    return 'done';
  });
  expect(result).toBe('done');
  expect(sampled.map(({ phase }) => phase)).toEqual(['warmup', 'measure']);
  const [warm, measured] = sampled.map(({ sample }) => sample);
  expect(warm!.shards).toEqual([{ shard: 1, backlog: 30, partitions: [] }]);
  expect(warm!.enqueuePerSec).toBeGreaterThan(warm!.dequeuePerSec);
  expect(measured).toMatchObject({ enqueuePerSec: 0, shards: [{ backlog: 0 }] });
  expect(measured!.dequeuePerSec).toBeGreaterThan(0);
});

test.each([
  { program: 'run-to-completion', parameters: { payloadBytes: 64 }, sweep: { messages: [2_000, 4_000] } },
  {
    program: 'flow-control',
    parameters: { payloadBytes: 64, messagesMax: 50 },
    sweep: { messages: [60, 100] },
  },
])(
  '$program streams what its trials do, and a recording keeps the best ones to be replayed',
  async (given) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const scenario = programScenario({
      study: 'redis-benchmark',
      systems: ['buffered', 'buffered-remote'],
      phases: { warmupMs: 50, measureMs: 300, drainMs: 5_000 },
      kills: false,
      ...given,
    });
    const ticks: Tick[] = [];
    const run = await startRun({
      scenario,
      scale: 'full',
      dataDir,
      onEvent(event) {
        if (event.type !== 'tick') return;
        expect(isEvent(event)).toBe(true);
        ticks.push(event.tick);
      },
    });
    expect(run.error).toBeNull();
    const byTrial = [...Map.groupBy(ticks, ({ trial }) => trial).values()];
    expect(byTrial).toHaveLength(4);
    for (const ofTrial of byTrial) {
      expect(new Set(ofTrial.map(({ phase }) => phase))).toEqual(new Set(['warmup', 'measure']));
      expect(ofTrial.some(({ instances }) => instances[0]!.dequeuePerSec > 0)).toBe(true);
      expect(backlogOf(ofTrial.at(-1)!)).toBe(0);
    }
    const figure = given.program === 'flow-control' ? 'accepted' : 'enqueuePerSec';
    const kept = ticksToReplay(run, figure, ticks);
    expect(new Set(kept.map(({ system }) => system))).toEqual(new Set(scenario.systems));
  },
);
