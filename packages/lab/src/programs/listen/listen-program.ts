/** The program `listen`: pairs of an enqueuer and a dequeuer on threads, which listen for their messages or dequeue by name. */
import { fileURLToPath } from 'node:url';
import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { waitsBetween } from '../../meters/wait-totals.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import type { Program } from '../program.ts';
import { figuresOf, histogramsOf, listenFigures } from './listen-figures.ts';
import type { ListenJob, ListenResult } from './listen-job.ts';
import { listenParameters, listenParamsOf } from './listen-params.ts';
import { runHost } from './run-host.ts';
import { sharedTopic } from './shared-topic.ts';

const hostFile = fileURLToPath(new URL('./host.ts', import.meta.url));

/** Measured on two cores: opening the instance, a subscriber, and a thread with the modules of its session. */
const startMs = 600;
const subscribeMs = 3;
const threadMs = 100;
const fixedBytes = 128 * 1024 ** 2;

export const listenProgram: Program = {
  id: 'listen',
  title: 'Sessions that listen for messages, or dequeue by name',
  parameters: listenParameters,
  figures: listenFigures,
  systems: [sharedTopic],
  check: () => [],
  estimateTrialMs({ params }: Combination, { warmupMs, measureMs }: Phases) {
    const { pairs, subscribers } = listenParamsOf(params);
    return warmupMs + measureMs + startMs + subscribeMs * subscribers + threadMs * pairs;
  },
  trialBytesMax(_: Scenario, params: Params) {
    const { payloadBytes, pairs } = listenParamsOf(params);
    return fixedBytes + 1_000 * pairs * payloadBytes;
  },
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases, scenario } = options;
  const params = listenParamsOf(trial.params);
  const nonce = (process.pid << 12) ^ trial.index;
  const job: ListenJob = { dir: options.dir, params, seed: scenario.seed, nonce, ...phases };
  const result = await runHost<ListenResult, ListenJob>(options, hostFile, job);
  const { before, after, ledgers, stated } = result;
  return measuredOutcome({
    figures: figuresOf(result),
    histograms: histogramsOf(result),
    waits: waitsBetween(before.waits, after.waits),
    integrity: mergeLedgers(ledgers),
    measuredMs: after.atMs - before.atMs,
    stated,
  });
}
