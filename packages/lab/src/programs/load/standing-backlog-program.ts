/**
 * The program `standing-backlog`: a process enqueues a backlog and is killed; another opens its files or connects to its server,
 * and enqueues and dequeues as fast as it can while as many messages stay in the queue.
 */
import type { Combination, Params, Phases, Scenario } from '@shardlab/contract';
import { installFor, missingFor } from '../../systems/missing.ts';
import { systemOf } from '../../systems/systems.ts';
import { measuredOutcome } from '../../trial/trial.ts';
import type { Program } from '../program.ts';
import { timeContradiction } from '../queue/points/contradiction.ts';
import { standingBacklogFigures } from './load-figures.ts';
import { loadOf, standingBacklogParameters, standingBacklogParamsOf } from './load-params.ts';
import { backlogMaxBeside, onLoadedSystem } from './load-trial.ts';
import {
  cpuUsPer,
  measuredMs,
  measuredOnly,
  ratePerSec,
  residentMiB,
  sessionTimesOf,
  steadyOf,
} from './step-figures.ts';

/** The slowest way of filling a backlog, and about what it takes. Three servers on a busy machine have taken 1 ms per message. */
const fillMsPerMessageMax = { embedded: 0.1, server: 2 };
const fillMsPerMessage = { embedded: 0.005, server: 0.1 };
const startMs = 1_200;
const fixedBytes = 512 * 1024 ** 2;

/** Embedded queues with files, which a new process opens. */
const embedded = ['sharded', 'unsharded', 'unsharded-grouped'];
/** Queues of servers, which survive the kill of their client: nothing is opened after it. */
const served = [
  'sharded-remote',
  'jetstream-r1',
  'jetstream-r1-synced',
  'jetstream-r3',
  'jetstream-r3-synced',
];
const kindOf = (system: string) => (served.includes(system) ? 'server' : 'embedded');

export const standingBacklog: Program = {
  id: 'standing-backlog',
  title: 'A backlog that stands in the queue, after a kill and a cold start',
  parameters: standingBacklogParameters,
  figures: standingBacklogFigures,
  systems: [...embedded, ...served].map((id) => systemOf(id).info),
  missing: missingFor,
  install: installFor,
  check: () => [],
  estimateTrialMs({ system, params }: Combination, { warmupMs, measureMs }: Phases) {
    const { backlog } = standingBacklogParamsOf(params);
    const fillMs = backlog * fillMsPerMessage[kindOf(system)];
    return startMs + warmupMs + measureMs + fillMs;
  },
  trialBytesMax(_: Scenario, params: Params) {
    const { backlog, payloadBytes } = standingBacklogParamsOf(params);
    return fixedBytes + 2 * backlog * (payloadBytes + 64);
  },
  trialLoad: (combination) => ({ ...loadOf(combination), isPaced: false }),
  contradiction: ({ figures }) => timeContradiction([figures.timeAccounted?.value ?? []].flat()),
  run(options) {
    const params = standingBacklogParamsOf(options.trial.params);
    const { backlog } = params;
    const kind = kindOf(options.trial.system);
    const withinMs = backlog * fillMsPerMessageMax[kind] + 10_000;
    return onLoadedSystem(options, { params, furtherMs: withinMs }, async (trial) => {
      const filled = await trial.step({
        dequeuers: 0,
        warmupMs: 0,
        measureMs: 0,
        fill: { messages: backlog, withinMs },
        isKilled: true,
      });
      const standing = filled.results.reduce((sum, { committed }) => sum + committed, 0);
      if (standing < backlog)
        throw new Error(`Only ${standing} of ${backlog} messages were enqueued within ${withinMs} ms`);
      // The remaining messages are counted, not drained.
      const { results, integrity } = await trial.step({ backlogMax: backlogMaxBeside(backlog), drainMs: 0 });
      const { figures: timeFigures, waits } = sessionTimesOf(results);
      return measuredOutcome({
        figures: measuredOnly({
          dequeuePerSec: ratePerSec(results, 'consumed'),
          enqueuePerSec: ratePerSec(results, 'enqueued'),
          readyAfterKillMs: kind === 'server' ? undefined : Math.max(...results.map(({ openMs }) => openMs)),
          cpuUsPerMessage: cpuUsPer(results, 'consumed'),
          residentMiB: residentMiB(results),
          ...timeFigures,
        }),
        waits,
        integrity,
        stated: results[0]!.stated,
        measuredMs: measuredMs(results),
        steady: steadyOf(results),
      });
    });
  },
};
