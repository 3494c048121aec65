/**
 * The program `slow-consumer`: two consumers of one nonpersistent queue with a quota, of which one is slow. The messages in its
 * pipeline count towards the quota, and the other consumer cannot get them.
 */
import { fileURLToPath } from 'node:url';
import type { Combination, FigureInfo, Phases } from '@shardlab/contract';
import Type from 'typebox';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { countOf } from '../count-of.ts';
import { cores, count, rate, ratio } from '../figure-info.ts';
import { runHost } from '../listen/run-host.ts';
import { measuredOnly } from '../load/step-figures.ts';
import type { Parameter, Program } from '../program.ts';
import { pipeliningParameters } from './pipelining-params.ts';
import { deviationOf, inWindow, perSecOf, rateSeries } from './slices.ts';
import {
  type SlowConsumerJob,
  type SlowConsumerResult,
  slowConsumerParamsOf,
  slowPipelines,
} from './slow-consumer-job.ts';

const hostFile = fileURLToPath(new URL('./slow-consumer-host.ts', import.meta.url));

const shared = ['quotaMessages', 'windowMessages', 'payloadBytes', 'producers'];

const parameters: readonly Parameter[] = [
  ...pipeliningParameters.filter(({ name }) => shared.includes(name)),
  {
    name: 'workMs',
    title: 'time of the slow consumer for a message, ms',
    over: 'the time for a message',
    many: '{} ms for a message',
    schema: countOf(1, 1_000, 'Milliseconds that the slow consumer pauses after each message'),
    default: 5,
  },
  {
    name: 'pipeline',
    title: 'pipeline of the slow consumer',
    over: 'the pipeline of the slow consumer',
    names: {
      none: 'no slow consumer',
      fair: 'a pipeline that grows with what is taken',
      'filled-at-once': 'a pipeline that is filled at once',
    },
    schema: Type.Union(
      slowPipelines.map((each) => Type.Literal(each)),
      { description: 'How the pipeline of the slow consumer is filled; none: there is no such consumer' },
    ),
  },
  {
    name: 'messagesMaximum',
    title: 'messages in the pipeline of the slow consumer',
    over: 'the pipeline',
    many: '{} messages in a pipeline',
    schema: countOf(1, 10_000, 'Messages that are pushed to the slow consumer ahead of its calls'),
  },
];

const figures: readonly FigureInfo[] = [
  rate('otherPerSec', 'Messages that the other consumer receives', { label: 'Rate of the other' }),
  rate('slowPerSec', 'Messages that the slow consumer receives', { label: 'Rate of the slow one' }),
  rate('sentPerSec', 'Messages that all producers send', { label: 'Rate of producers' }),
  ratio('otherDeviation', 'Standard deviation of the rate of the other consumer, from slice to slice', {
    label: 'Deviation of the other',
    unit: 'share of the mean',
  }),
  count('heldMost', 'Most messages that consumers and their pipelines held', { unit: 'messages' }),
  cores('cpuCores', 'CPU of the process'),
];

const startMs = 1_100;
const fixedBytes = 64 * 1024 ** 2;

export const slowConsumerProgram: Program = {
  id: 'slow-consumer',
  title: 'Two consumers of one queue, of which one is slow',
  parameters,
  figures,
  systems: [
    {
      id: 'remote-queue',
      title: 'Queue over a socket',
      about:
        'A nonpersistent queue, whose producers and consumers are sessions over sockets, on threads of their own',
    },
  ],
  check: () => [],
  estimateTrialMs: (_: Combination, { warmupMs, measureMs }: Phases) => startMs + warmupMs + measureMs,
  trialBytesMax: () => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases, scenario } = options;
  const params = slowConsumerParamsOf(trial.params);
  const nonce = (process.pid << 12) ^ trial.index;
  const job: SlowConsumerJob = { dir: options.dir, params, seed: scenario.seed, nonce, ...phases };
  const result = await runHost<SlowConsumerResult, SlowConsumerJob>(options, hostFile, job);
  const { threads, left } = result;
  const [other, slow] = threads.consumers.map((report) => inWindow(report, threads).messages);
  const sent = inWindow(threads.producers, threads).messages;
  const otherRates = rateSeries('other consumer', other!);
  const { lost, ...integrity } = mergeLedgers(
    [threads.producers, ...threads.consumers].map(({ ledger }) => ledger),
  );
  return measuredOutcome({
    figures: measuredOnly({
      otherPerSec: perSecOf(other!),
      slowPerSec: slow === undefined ? undefined : perSecOf(slow),
      sentPerSec: perSecOf(sent),
      otherDeviation: deviationOf(otherRates),
      heldMost: Math.max(0, ...threads.held),
      cpuCores: threads.cpu.processCores,
    }),
    rates: [
      rateSeries('producers', sent),
      otherRates,
      ...(slow === undefined ? [] : [rateSeries('slow consumer', slow)]),
    ],
    integrity: { ...integrity, lost: Math.max(0, lost - left), left },
    measuredMs: threads.closedAtMs - threads.openedAtMs,
    stated: 'memory',
  });
}
