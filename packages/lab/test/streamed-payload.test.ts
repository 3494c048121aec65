/** Payloads above 1 MiB: each byte is compared, and a trial with them loses and damages nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario } from '@shardlab/contract';
import { bundledStudies, planRun } from '@shardlab/lab';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runTrial } from '../src/programs/queue/trial/run-trial.ts';
import { StreamedPayloadCodec } from '../src/programs/queue/trial/streamed-payload.ts';
import { crossCheckScenario } from '../src/scenario/cross-checks.ts';
import { smallScenario } from './support.ts';

const trial = { seed: 7, nonce: 9 };
const bytes = 1_000_001;
const identity = { enqueuer: 3, sequence: 4, sentAtMs: 5.5 };

async function whole(codec: StreamedPayloadCodec): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of codec.make(identity)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** The payload in pieces of this size, which need not end at the end of a chunk. */
async function* cut(payload: Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < payload.length; at += pieceBytes) yield payload.subarray(at, at + pieceBytes);
}

describe('a streamed payload of the lab', () => {
  const codec = new StreamedPayloadCodec({ bytes, ...trial });

  it.each([1_000, 65_537, 262_144, 2_000_000])('is recognized in pieces of %i bytes', async (pieceBytes) => {
    const payload = await whole(codec);
    expect(payload.length).toBe(bytes);
    expect(await codec.check(cut(payload, pieceBytes))).toEqual(identity);
  });

  it.each([0, 24, 262_143, 262_144, 600_000, bytes - 1])(
    'is damaged if one bit of byte %i differs',
    async (at) => {
      const payload = await whole(codec);
      payload[at]! ^= 1;
      expect(await codec.check(cut(payload, 65_536))).toBeNull();
    },
  );

  it('is damaged if it is shorter or longer, or of another trial', async () => {
    const payload = await whole(codec);
    expect(await codec.check(cut(payload.subarray(1), 65_536))).toBeNull();
    expect(await codec.check(cut(payload.subarray(0, bytes - 1), 65_536))).toBeNull();
    expect(await codec.check(cut(Buffer.concat([payload, payload.subarray(0, 9)]), 65_536))).toBeNull();
    const other = new StreamedPayloadCodec({ bytes, seed: 7, nonce: 10 });
    expect(await other.check(cut(payload, 65_536))).toBeNull();
  });
});

describe('a scenario of streamed payloads', () => {
  const parameters = { payloadBytes: 3 * 1024 * 1024, operationsPerTransaction: 1, backlogMax: 3 };
  const sweep = { instances: [1], threads: [1], backlog: [2] };
  const systems = ['sharded'];

  it.each(['embedded' as const, 'remote' as const])(
    'runs with %s sessions: nothing lost, duplicated, damaged or out of order, and all of their time explained',
    async (sessions) => {
      const phases = { warmupMs: 0, measureMs: 500, drainMs: 20_000 };
      const scenario = smallScenario({ parameters: { ...parameters, sessions }, systems, sweep, phases });
      expect(crossCheckScenario(scenario, bundledStudies)).toEqual([]);
      const { trials } = planRun(scenario, 'full');
      const dir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
      onTestFinished(() => rm(dir, { recursive: true, force: true }));
      const { integrity, figures, waits, measuredMs } = await runTrial({
        trial: trials[0]!,
        scenario,
        phases,
        dir: join(dir, 'trial'),
      });
      expect(integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
      expect(Math.abs(figures.timeAccounted! - 1)).toBeLessThan(0.05);
      // Each of the two sessions is in one wait at a time, so that together they wait at most twice the measured time.
      const waitingMs = waits.reduce((sum, { totalMs }) => sum + totalMs, 0);
      if (sessions === 'embedded') expect(waitingMs).toBeLessThan(1.15 * 2 * measuredMs);
    },
  );

  it.each<[string, Partial<Scenario>]>([
    ['/systems/1', { systems: ['sharded', 'unsharded'] }],
    ['/parameters/durability', { parameters: { ...parameters, durability: 'memory' } }],
  ])('is refused at %s where nothing is streamed', (path, changes) => {
    const scenario = smallScenario({ parameters, systems, sweep, ...changes });
    expect(crossCheckScenario(scenario, bundledStudies).map((fault) => fault.path)).toEqual([path]);
  });
});
