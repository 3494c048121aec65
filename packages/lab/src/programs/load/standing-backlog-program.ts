/**
 * The program `standing-backlog`: a process enqueues a backlog and is killed; another opens its files, and enqueues and
 * dequeues as fast as it can while as many messages stay in the queue.
 */
import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import { systemOf } from '../../systems/systems.ts';
import { measuredOutcome } from '../../trial/trial.ts';
import type { Program } from '../program.ts';
import { standingBacklogFigures } from './load-figures.ts';
import { standingBacklogParameters, standingBacklogParamsOf } from './load-params.ts';
import { backlogMaxBeside, onLoadedSystem } from './load-trial.ts';
import { cpuUsPer, measuredMs, measuredOnly, ratePerSec, residentMiB, steadyOf } from './step-figures.ts';

/** The slowest way of filling a backlog takes 0.1 ms per message; ours take a twentieth. */
const fillMsPerMessageMax = 0.1;
const fillMsPerMessage = 0.005;
const startMs = 1_200;
const fixedBytes = 512 * 1024 ** 2;

/** Embedded queues with files, which a new process can open: a server would survive the kill of its client. */
const embedded = ['sharded', 'unsharded', 'unsharded-grouped'];

export const standingBacklog: Program = {
  id: 'standing-backlog',
  title: 'A backlog that stands in the queue, after a kill and a cold start',
  parameters: standingBacklogParameters,
  figures: standingBacklogFigures,
  systems: embedded.map((id) => systemOf(id).info),
  check: () => [],
  estimateTrialMs: ({ params }: Combination, { warmupMs, measureMs }: Phases) =>
    startMs + warmupMs + measureMs + standingBacklogParamsOf(params).backlog * fillMsPerMessage,
  trialBytesMax(_: Scenario, params: Params) {
    const { backlog, payloadBytes } = standingBacklogParamsOf(params);
    return fixedBytes + 2 * backlog * (payloadBytes + 64);
  },
  run(options) {
    const params = standingBacklogParamsOf(options.trial.params);
    const { backlog } = params;
    const withinMs = backlog * fillMsPerMessageMax + 10_000;
    return onLoadedSystem(options, { params, furtherMs: withinMs }, async (trial) => {
      await trial.step({
        dequeuers: 0,
        warmupMs: 0,
        measureMs: 0,
        fill: { messages: backlog, withinMs },
        isKilled: true,
      });
      // What remains is counted, not drained.
      const { results, integrity } = await trial.step({ backlogMax: backlogMaxBeside(backlog), drainMs: 0 });
      return measuredOutcome({
        figures: measuredOnly({
          dequeuePerSec: ratePerSec(results, 'consumed'),
          enqueuePerSec: ratePerSec(results, 'enqueued'),
          readyAfterKillMs: Math.max(...results.map(({ openMs }) => openMs)),
          cpuUsPerMessage: cpuUsPer(results, 'consumed'),
          residentMiB: residentMiB(results),
        }),
        integrity,
        stated: results[0]!.stated,
        measuredMs: measuredMs(results),
        steady: steadyOf(results),
      });
    });
  },
};
