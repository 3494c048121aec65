/** The program `pipelining`: producers and one consumer for each subscriber of a nonpersistent topic, as fast as they can. */
import { fileURLToPath } from 'node:url';
import type { Combination, Integrity, Params, Phases, Scenario } from '@shardlab/contract';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { runHost } from '../listen/run-host.ts';
import type { Program } from '../program.ts';
import { figuresOf, pipeliningFigures, ratesOf } from './pipelining-figures.ts';
import type { PipeliningJob, PipeliningResult } from './pipelining-job.ts';
import { pipeliningParameters, pipeliningParamsOf, remoteTopic } from './pipelining-params.ts';

const hostFile = fileURLToPath(new URL('./host.ts', import.meta.url));

/** Time to open the instance, and to start a thread with the modules of a client. */
const startMs = 700;
const threadMs = 150;
/** Disk space of a trial: its messages are in memory only. */
const fixedBytes = 64 * 1024 ** 2;

export const pipeliningProgram: Program = {
  id: 'pipelining',
  title: 'Producers and consumers over sockets, with and without pipelines',
  parameters: pipeliningParameters,
  figures: pipeliningFigures,
  systems: [remoteTopic],
  check: () => [],
  estimateTrialMs({ params }: Combination, { warmupMs, measureMs }: Phases) {
    return warmupMs + measureMs + startMs + threadMs * (1 + pipeliningParamsOf(params).subscribers);
  },
  trialBytesMax: (_: Scenario, __: Params) => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases, scenario } = options;
  const params = pipeliningParamsOf(trial.params);
  const nonce = (process.pid << 12) ^ trial.index;
  const job: PipeliningJob = { dir: options.dir, params, seed: scenario.seed, nonce, ...phases };
  const result = await runHost<PipeliningResult, PipeliningJob>(options, hostFile, job);
  return measuredOutcome({
    figures: figuresOf(result),
    rates: ratesOf(result),
    integrity: integrityOf(result),
    measuredMs: result.closedAtMs - result.openedAtMs,
    stated: 'memory',
  });
}

const integrityCounts = ['lost', 'duplicated', 'damaged', 'outOfOrder', 'left'] as const;

/** Each subscriber is to receive every message. */
function integrityOf({ producers, consumers, ledgerOfLeft }: PipeliningResult): Integrity {
  const total: Integrity = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
  for (const [subscriber, { ledger }] of consumers.entries()) {
    const reports = [producers.ledger, ledger, ...(subscriber === 0 ? [ledgerOfLeft] : [])];
    const integrity = mergeLedgers(reports);
    for (const name of integrityCounts) total[name] += integrity[name];
  }
  return total;
}
