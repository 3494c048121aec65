/** The program `jetstream-failover`: sessions at work on three NATS servers while each is killed, suspended or cut off in turn. */
import { fileURLToPath } from 'node:url';
import type { FigureInfo, Params } from '@shardlab/contract';
import Type from 'typebox';
import { installFor, missingFor } from '../../systems/missing.ts';
import { systemOf, systems } from '../../systems/systems.ts';
import type { TrialOptions, TrialOutcome } from '../../trial/trial.ts';
import { countOf } from '../count-of.ts';
import { count, milliseconds } from '../figure-info.ts';
import { runHost } from '../listen/run-host.ts';
import type { Parameter, Program } from '../program.ts';
import { type FailoverJob, type FailoverResult, faults } from './failover-job.ts';

const hostFile = fileURLToPath(new URL('./failover-host.ts', import.meta.url));

type FailoverParams = Pick<FailoverJob, 'fault' | 'faultMs' | 'sessions'>;

const failoverParamsOf = (params: Params) => params as unknown as FailoverParams;

export const faultMs = (told: Omit<Parameter, 'name' | 'schema'>, description: string): Parameter => ({
  name: 'faultMs',
  schema: countOf(100, 60_000, description),
  ...told,
});

export const sessions: Parameter = {
  name: 'sessions',
  title: 'sessions of each kind',
  over: 'sessions',
  one: '{} session of each kind',
  many: '{} sessions of each kind',
  schema: countOf(1, 64, 'That enqueue, and as many that consume'),
  default: 4,
};

const parameters: readonly Parameter[] = [
  {
    name: 'fault',
    title: 'what happens to each server in turn',
    over: 'faults',
    one: '{}',
    many: '{}',
    schema: Type.Enum([...faults], {
      description:
        'none; kill: SIGKILL, and started again; pause: SIGSTOP; partition: cut off from the others',
    }),
  },
  faultMs(
    {
      title: 'milliseconds that each server is faulty',
      over: 'milliseconds of a fault',
      one: '{} ms of a fault',
      many: '{} ms of a fault',
      default: 8_000,
    },
    'Per server; an election takes some 5 s',
  ),
  sessions,
];

export const figures: readonly FigureInfo[] = [
  milliseconds('gapMs', 'Longest time without an acknowledged enqueue'),
  count('acknowledged', 'Messages whose enqueue was acknowledged', {
    label: 'Acknowledged',
    unit: 'messages',
  }),
  count('consumed', 'Messages whose consumption was confirmed', { label: 'Consumed', unit: 'messages' }),
  count('unknown', 'Commits of unknown outcome', { label: 'Unknown', unit: 'commits' }),
  count('lost', 'Messages that were acknowledged and lost', { label: 'Lost', unit: 'messages' }),
  count('doubled', 'Confirmed consumptions of a message consumed before', {
    label: 'Doubled',
    unit: 'messages',
  }),
];

const startMs = 4_000;
const healthyMs = 4_000;
const fixedBytes = 512 * 1024 ** 2;

/** Systems with three servers, synced or not. */
export const replicatedSystems = systems
  .filter(({ info: { id } }) => ['jetstream-r3', 'jetstream-r3-synced'].includes(id))
  .map((system) => system.info);

export const failoverProgram: Program = {
  id: 'jetstream-failover',
  title: 'NATS servers that fail one after the other',
  parameters,
  figures,
  systems: replicatedSystems,
  missing: missingFor,
  install: installFor,
  check: () => [],
  estimateTrialMs: ({ params }) => startMs + 3 * (failoverParamsOf(params).faultMs + healthyMs),
  trialBytesMax: () => fixedBytes,
  run: (options) => runWithFaults(options, failoverParamsOf(options.trial.params)),
};

export async function runWithFaults(options: TrialOptions, params: FailoverParams): Promise<TrialOutcome> {
  const { trial, dir } = options;
  const { synced } = systemOf(trial.system);
  const job: FailoverJob = { ...params, dir, synced };
  const result = await runHost<FailoverResult, FailoverJob>(options, hostFile, job);
  const { measuredMs, left, ...counted } = result;
  return {
    figures: counted,
    provenance: 'measured',
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: { lost: counted.lost, duplicated: counted.doubled, damaged: 0, outOfOrder: 0, left },
    measuredMs,
  };
}
