/** The program `raw-limit`: rows through SQLite alone, without a queue, which limits every queue that stores in it. */
import { mkdir, rm } from 'node:fs/promises';
import type { Combination, FigureInfo, Phases } from '@shardlab/contract';
import Type from 'typebox';
import { measureRaw, type RawJob } from '../../raw/raw-limit.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import type { Parameter, Program } from '../program.ts';

type RawLimitParams = Pick<RawJob, 'cycle' | 'operationsPerTransaction' | 'pageBytes' | 'payloadBytes'>;

const figures: readonly FigureInfo[] = [
  {
    name: 'rowsPerSec',
    label: 'Rows',
    title: 'Rows through SQLite alone',
    unit: 'rows per second',
    format: 'rate',
  },
  {
    name: 'cpuUsPerRow',
    label: 'CPU per row',
    title: 'CPU time per row',
    unit: 'microseconds',
    format: 'microseconds',
  },
];

const parameters: readonly Parameter[] = [
  {
    name: 'cycle',
    title: 'cycle',
    over: 'the cycle',
    names: {
      insert: 'inserts',
      'insert-select-delete': 'inserts in one transaction, select and delete in the next',
    },
    schema: Type.Union([Type.Literal('insert'), Type.Literal('insert-select-delete')], {
      description: 'What a row goes through',
    }),
  },
  {
    name: 'pageBytes',
    title: 'page bytes',
    over: 'the page size',
    many: 'pages of {} bytes',
    schema: Type.Union([Type.Literal(4096), Type.Literal(16_384)], { description: "SQLite's page size" }),
    default: 4096,
  },
  {
    name: 'payloadBytes',
    title: 'payload bytes',
    over: 'the payload size',
    many: '{} bytes',
    schema: Type.Integer({ minimum: 1, maximum: 65_536, description: 'Bytes of a row' }),
  },
  {
    name: 'operationsPerTransaction',
    title: 'rows per transaction',
    over: 'the rows per transaction',
    one: '{} row per transaction',
    many: '{} rows per transaction',
    schema: Type.Integer({ minimum: 1, maximum: 10_000, description: 'Rows of one commit, which is synced' }),
  },
];

const startMs = 300;
/** The loop's log is checkpointed and its rows are deleted, or as many as a second inserts. */
const bytesMax = 1024 ** 3;

export const rawLimit: Program = {
  id: 'raw-limit',
  title: 'Rows through SQLite alone, without a queue',
  parameters,
  figures,
  systems: [
    {
      id: 'sqlite',
      title: 'SQLite',
      about: 'One connection of one process, synchronous = FULL: every transaction is synced',
    },
  ],
  check: () => [],
  /** A fifth of the window warms up. */
  estimateTrialMs: (_: Combination, { measureMs }: Phases) => startMs + measureMs * 1.2,
  trialBytesMax: () => bytesMax,
  run: runRawLimit,
};

async function runRawLimit({ trial, phases, dir, signal }: TrialOptions): Promise<TrialOutcome> {
  const params = trial.params as unknown as RawLimitParams;
  const { measureMs } = phases;
  await mkdir(dir, { recursive: true });
  try {
    const { rowsPerSec, cpuUsPerRow } = await measureRaw({ ...params, dir, measureMs }, signal);
    return measuredOutcome({
      figures: { rowsPerSec, cpuUsPerRow },
      integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
      measuredMs: measureMs,
    });
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
