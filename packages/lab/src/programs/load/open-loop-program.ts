/**
 * The program `open-loop`: transactions begin at their intended times, whether or not earlier ones have finished. Latencies count
 * from the intended time, so a stall counts against every message that should have been sent during it.
 */

import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import { LabError } from '../../errors/errors.ts';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { tracesIn } from '../../meters/trace-sampler.ts';
import { installFor, missingFor } from '../../systems/missing.ts';
import { systemOf, systems } from '../../systems/systems.ts';
import type { TrialOptions, TrialOutcome } from '../../trial/trial.ts';
import { expandSweep, scalesOf } from '../expand-sweep.ts';
import type { Program } from '../program.ts';
import { timeContradiction } from '../queue/points/contradiction.ts';
import { openLoopFigures } from './load-figures.ts';
import { loadOf, type OpenLoopParams, openLoopParameters, openLoopParamsOf } from './load-params.ts';
import { onLoadedSystem } from './load-trial.ts';
import {
  cpuUsPer,
  measuredMs,
  measuredOnly,
  merged,
  p50Of,
  p99Of,
  ratePerSec,
  sessionTimesOf,
  sustainedOf,
} from './step-figures.ts';

/** Maximum phases of the closed loop that finds the maximum rate, milliseconds. */
const maximumPhases = { warmupMs: 300, measureMs: 700 } as const;

const startMs = 900;
const fixedBytes = 512 * 1024 ** 2;
/** More than a closed loop does here. */
const perMsMax = 600;

/** Exactly one rate is named, and only our embedded queues can emulate a slow disk. */
function check(scenario: Scenario): ScenarioProblem[] {
  const { parameters, sweep } = scenario;
  const named = ['messagesPerSec', 'shareOfMaximum'].filter(
    (name) => parameters[name] !== undefined || sweep[name] !== undefined,
  );
  const path = '/parameters/messagesPerSec';
  const rates =
    named.length === 1
      ? []
      : [{ path, message: 'Give either "messagesPerSec" or "shareOfMaximum": the rate of the open loop' }];
  const emulated = scalesOf(scenario)
    .flatMap((scale) => expandSweep(scenario, scale, openLoop))
    .find(({ system, params }) => openLoopParamsOf(params).emulatedSyncMs > 0 && !emulatesSyncs(system));
  if (emulated === undefined) return rates;
  const where = sweep.emulatedSyncMs === undefined ? '/parameters' : '/sweep';
  return [
    ...rates,
    { path: `${where}/emulatedSyncMs`, message: `The syncs of ${emulated.system} cannot be emulated` },
  ];
}

/** Our own queues in the client's process. */
const emulatesSyncs = (id: string) => /^(sharded|unsharded)/.test(id) && systemOf(id).server === null;

export const openLoop: Program = {
  id: 'open-loop',
  title: 'Messages sent at intended times, on any system',
  parameters: openLoopParameters,
  figures: openLoopFigures,
  systems: systems.map(({ info }) => info),
  missing: missingFor,
  install: installFor,
  check,
  estimateTrialMs({ params }: Combination, { warmupMs, measureMs, drainMs }: Phases) {
    const isShare = openLoopParamsOf(params).shareOfMaximum !== undefined;
    const maximumMs = isShare ? startMs + maximumPhases.warmupMs + maximumPhases.measureMs : 0;
    return startMs + warmupMs + measureMs + drainMs / 4 + maximumMs;
  },
  trialBytesMax(scenario: Scenario, params: Params) {
    const { payloadBytes, messagesPerSec } = openLoopParamsOf(params);
    const { warmupMs, measureMs } = scenario.phases;
    const perMs = messagesPerSec === undefined ? perMsMax : messagesPerSec / 1_000;
    return fixedBytes + (warmupMs + measureMs) * perMs * (payloadBytes + 256);
  },
  /** A share of the maximum is found as fast as the sessions can. */
  trialLoad: (combination) => ({
    ...loadOf(combination),
    isPaced: openLoopParamsOf(combination.params).messagesPerSec !== undefined,
  }),
  contradiction: ({ figures }) => timeContradiction([figures.timeAccounted?.value ?? []].flat()),
  run: runOpenLoop,
};

async function runOpenLoop(options: TrialOptions): Promise<TrialOutcome> {
  const params = openLoopParamsOf(options.trial.params);
  const { operationsPerTransaction: operations, emulatedSyncMs } = params;
  const offeredPerSec = params.messagesPerSec ?? (await shareOfMaximum(options, params));
  return onLoadedSystem(options, { params, emulatedSyncMs }, async (trial) => {
    const transactionsPerSec = offeredPerSec / operations / trial.processes;
    const { results, integrity } = await trial.step({ transactionsPerSec });
    const steady = sustainedOf(results);
    const latency = merged(results, 'latency');
    const { figures: timeFigures, waits } = sessionTimesOf(results);
    const others = {
      scheduleLag: merged(results, 'scheduleLag'),
      eventLoopDelay: merged(results, 'eventLoopDelay'),
    };
    return {
      figures: measuredOnly({
        // Of a backlog that grows, it measures the length of the run.
        ...(steady.isSteady ? { latencyP50Ms: p50Of(latency), latencyP99Ms: p99Of(latency) } : {}),
        offeredPerSec,
        dequeuePerSec: ratePerSec(results, 'consumed'),
        scheduleLagP99Ms: p99Of(others.scheduleLag),
        eventLoopDelayP99Ms: p99Of(others.eventLoopDelay),
        cpuUsPerMessage: cpuUsPer(results, 'consumed'),
        ...timeFigures,
      }),
      provenance: emulatedSyncMs > 0 ? 'emulated' : 'measured',
      latencies: steady.isSteady ? { latency, ...others } : others,
      byInstance: {},
      waits,
      ...tracesIn(results),
      integrity,
      stated: results[0]!.stated,
      measuredMs: measuredMs(results),
      steady,
    };
  });
}

/** Measured by a closed loop of its own, because a maximum from another minute may be another one. */
async function shareOfMaximum(options: TrialOptions, params: OpenLoopParams): Promise<number> {
  const { enqueuers: _e, dequeuers: _d, ...usual } = params;
  const { phases } = options;
  const short = {
    ...phases,
    warmupMs: Math.min(maximumPhases.warmupMs, phases.warmupMs),
    measureMs: Math.min(maximumPhases.measureMs, phases.measureMs),
  };
  const maximumPerSec = await onLoadedSystem(
    { ...options, phases: short },
    { params: usual, part: 'maximum' },
    async (trial) => ratePerSec((await trial.step({})).results, 'consumed'),
  );
  if (maximumPerSec > 0) return Math.max(1, Math.round(maximumPerSec * params.shareOfMaximum!));
  throw new LabError('WORKER_FAILED', {
    message: `Nothing was dequeued in ${short.measureMs} ms of the closed loop that finds the maximum rate`,
  });
}
