/** The program `listen-herd`: one message is enqueued while many sessions listen, and the events of each are reported. */
import { fileURLToPath } from 'node:url';
import type { FigureInfo, Params, Swimlane } from '@shardlab/contract';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { countOf } from '../count-of.ts';
import { count, microseconds } from '../figure-info.ts';
import type { Parameter, Program } from '../program.ts';
import type { HerdJob, HerdResult } from './herd-host.ts';
import { listenParameters } from './listen-params.ts';
import { runHost } from './run-host.ts';
import { sharedTopic } from './shared-topic.ts';
import { getsOf, swimlanesOf } from './swimlanes.ts';

const hostFile = fileURLToPath(new URL('./herd-host.ts', import.meta.url));
const listenersMax = 120;

interface HerdParams {
  listeners: number;
  copies: number;
  payloadBytes: number;
}

const herdParamsOf = (params: Params) => params as unknown as HerdParams;

const parameters: readonly Parameter[] = [
  ...listenParameters.filter(({ name }) => name === 'payloadBytes' || name === 'copies'),
  {
    name: 'listeners',
    title: 'sessions that listen',
    over: 'sessions that listen',
    one: '{} session',
    many: '{} sessions',
    schema: countOf(1, listenersMax, 'Sessions that listen, each for a subscriber of its own'),
  },
];

const figures: readonly FigureInfo[] = [
  count('woken', 'Sessions that woke', { unit: 'sessions' }),
  count('wokenForNothing', 'Sessions that woke for nothing', { unit: 'sessions' }),
  microseconds('herdUs', 'From the post until the last session has looked'),
  microseconds('receivedUs', 'From the post until the message is dequeued'),
  ...(['mutex', 'latch'] as const).flatMap((guard) => [
    microseconds(`${guard}HeldUs`, `Time that the ${guard} is held, by all`),
    microseconds(`${guard}HeldMaxUs`, `Longest time that a session holds the ${guard}`),
    microseconds(`${guard}WaitedUs`, `Time that sessions wait for the ${guard}, by all`),
  ]),
];

const startMs = 1_500;
const threadMs = 100;
const fixedBytes = 256 * 1024 ** 2;

export const listenHerdProgram: Program = {
  id: 'listen-herd',
  title: 'One enqueue while many sessions listen',
  parameters,
  figures,
  systems: [sharedTopic],
  check: () => [],
  estimateTrialMs: ({ params }) => startMs + threadMs * herdParamsOf(params).listeners,
  trialBytesMax: () => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, scenario } = options;
  const { listeners, copies, payloadBytes } = herdParamsOf(trial.params);
  const nonce = (process.pid << 12) ^ trial.index;
  const job: HerdJob = { dir: options.dir, listeners, copies, payloadBytes, seed: scenario.seed, nonce };
  const { events, enqueuer, ledgers, measuredMs } = await runHost<HerdResult, HerdJob>(
    options,
    hostFile,
    job,
  );
  const swimlanes = swimlanesOf(events, enqueuer);
  return measuredOutcome({
    figures: figuresOf(swimlanes),
    swimlanes,
    integrity: mergeLedgers(ledgers),
    measuredMs,
  });
}

function figuresOf(lanes: readonly Swimlane[]): Record<string, number> {
  const spans = lanes.flatMap((lane) => lane.spans);
  const looked = spans.filter(({ kind }) => kind === 'found' || kind === 'found nothing');
  const received = spans.find(({ kind }) => kind === 'dequeued');
  const of = (outcome: Swimlane['outcome']) => lanes.filter((lane) => lane.outcome === outcome).length;
  const figures: Record<string, number> = {
    woken: of('got the message') + of('woke for nothing'),
    wokenForNothing: of('woke for nothing'),
    herdUs: Math.max(0, ...looked.map(({ endedUs }) => endedUs)),
    ...(received === undefined ? {} : { receivedUs: received.endedUs }),
  };
  for (const guard of ['mutex', 'latch'] as const) {
    const { heldUs, heldMaxUs, waitedUs } = getsOf(lanes, guard);
    figures[`${guard}HeldUs`] = heldUs;
    figures[`${guard}HeldMaxUs`] = heldMaxUs;
    figures[`${guard}WaitedUs`] = waitedUs;
  }
  return figures;
}
