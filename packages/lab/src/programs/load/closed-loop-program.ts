/** The program `closed-loop`: sessions that enqueue and dequeue as fast as a system lets them, for a time. */
import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import type { RawShape } from '../../surroundings/surroundings.ts';
import { missingFor } from '../../systems/missing.ts';
import { systems } from '../../systems/systems.ts';
import type { TrialOptions, TrialOutcome } from '../../trial/trial.ts';
import type { Program } from '../program.ts';
import { closedLoopFigures } from './load-figures.ts';
import { closedLoopParameters, closedLoopParamsOf } from './load-params.ts';
import { type LoadTrial, onLoadedSystem } from './load-trial.ts';
import {
  cpuUsPer,
  measuredMs,
  measuredOnly,
  merged,
  p99Of,
  ratePerSec,
  residentMiB,
  steadyOf,
} from './step-figures.ts';

/** Of a backlog that is to be dequeued: more than a system dequeues in the window; it may take as long as that to fill. */
const filledPerMs = 750;

const startMs = 900;

/** Where messages are enqueued as fast as can be, with what is written ahead of them. */
const enqueuedPerMsMax = 600;
const fixedBytes = 512 * 1024 ** 2;

function trialBytesMax(scenario: Scenario, params: Params): number {
  const { payloadBytes } = closedLoopParamsOf(params);
  const { warmupMs, measureMs } = scenario.phases;
  const messages = (warmupMs + measureMs) * enqueuedPerMsMax + measureMs * filledPerMs;
  return fixedBytes + messages * (payloadBytes + 256);
}

/** What SQLite alone does with the same transactions: inserts only, or the whole life of a row. */
function rawShape(params: Params): RawShape {
  const { schedule, operationsPerTransaction, payloadBytes } = closedLoopParamsOf(params);
  const cycle = schedule === 'at-once' ? 'insert-select-delete' : 'insert';
  return { cycle, operationsPerTransaction, pageBytes: 4096, payloadBytes };
}

export const closedLoop: Program = {
  id: 'closed-loop',
  title: 'Enqueuers and dequeuers that work as fast as they can, on any system',
  parameters: closedLoopParameters,
  figures: closedLoopFigures,
  systems: systems.map(({ info }) => info),
  missing: missingFor,
  check: () => [],
  estimateTrialMs({ params }: Combination, { warmupMs, measureMs, drainMs }: Phases) {
    const isOnce = closedLoopParamsOf(params).schedule === 'at-once';
    const once = startMs + warmupMs + measureMs;
    return isOnce ? once + drainMs / 4 : 2 * once + measureMs;
  },
  trialBytesMax,
  rawShape,
  run(options) {
    const params = closedLoopParamsOf(options.trial.params);
    return onLoadedSystem(options, { params }, (trial) =>
      params.schedule === 'at-once' ? atOnce(trial) : enqueueThenDequeue(trial, options),
    );
  },
};

async function atOnce(trial: LoadTrial): Promise<TrialOutcome> {
  const { results, integrity } = await trial.step({});
  const eventLoopDelay = merged(results, 'eventLoopDelay');
  return {
    ...usual,
    figures: measuredOnly({
      enqueuePerSec: ratePerSec(results, 'enqueued'),
      dequeuePerSec: ratePerSec(results, 'consumed'),
      cpuUsPerMessage: cpuUsPer(results, 'consumed'),
      eventLoopDelayP99Ms: p99Of(eventLoopDelay),
      residentMiB: residentMiB(results),
    }),
    latencies: { eventLoopDelay },
    integrity,
    stated: results[0]!.stated,
    measuredMs: measuredMs(results),
    steady: steadyOf(results),
  };
}

/** The backlog that one process has left is dequeued by another one. */
async function enqueueThenDequeue(trial: LoadTrial, { phases }: TrialOptions): Promise<TrialOutcome> {
  const { measureMs } = phases;
  const fill = { messages: measureMs * filledPerMs, withinMs: measureMs };
  const { results: enqueued } = await trial.step({ dequeuers: 0, backlogMax: Infinity, fill });
  const { results: dequeued, integrity } = await trial.step({ enqueuers: [], drainMs: 0 });
  const cpuUs = [cpuUsPer(enqueued, 'enqueued'), cpuUsPer(dequeued, 'consumed')];
  const eventLoopDelay = merged(enqueued, 'eventLoopDelay');
  return {
    ...usual,
    figures: measuredOnly({
      enqueuePerSec: ratePerSec(enqueued, 'enqueued'),
      dequeuePerSec: ratePerSec(dequeued, 'consumed'),
      cpuUsPerMessage: cpuUs.includes(undefined) ? undefined : cpuUs[0]! + cpuUs[1]!,
      eventLoopDelayP99Ms: p99Of(eventLoopDelay),
      residentMiB: residentMiB([...enqueued, ...dequeued]),
    }),
    latencies: { eventLoopDelay },
    integrity,
    stated: enqueued[0]!.stated,
    measuredMs: measuredMs(enqueued) + measuredMs(dequeued),
  };
}

const usual = { provenance: 'measured', byInstance: {}, waits: [] } as const satisfies Partial<TrialOutcome>;
