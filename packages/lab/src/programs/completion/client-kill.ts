/** How the programs with one client process show durability. */
import type { Params } from '@shardlab/contract';
import { type DriverName, engineQueues } from '../../systems/drivers.ts';
import { systemOf } from '../../systems/systems.ts';
import { killedLoadMsOf } from '../../trial/killed-load.ts';
import type { KillTest } from '../program.ts';
import { killedBacklogMax } from './killed-work.ts';
import { durabilityOf, type KilledClientTrial, runKilledClientTrial } from './run-killed-client-trial.ts';

/** Our queues, and lists of Redis: a server and a client that are started again on their files continue with them. */
const killedDrivers: ReadonlySet<DriverName> = new Set<DriverName>([
  ...(Object.keys(engineQueues) as (keyof typeof engineQueues)[]),
  'sharded-remote',
  'sharded-prefetch',
  'buffered-remote',
  'redis-plain',
  'redis-reliable',
]);

/** Starting the processes twice, and reading what is left. */
const startMs = { embedded: 1_000, server: 1_600 };

/** `trialOf`: the trial of a point. Systems that promise nothing are killed too: what they lose is reported. */
export function clientKill(trialOf: (params: Params) => KilledClientTrial): KillTest {
  return {
    durabilityOf: ({ system }) => durabilityOf(systemOf(system)),
    isPromised: ({ system }) => systemOf(system).synced,
    canKill: ({ system, params }) =>
      killedDrivers.has(systemOf(system).driver) && trialOf(params).messagesMax >= killedBacklogMax,
    estimateMs: ({ system }, phases) =>
      killedLoadMsOf(phases) + startMs[systemOf(system).server === null ? 'embedded' : 'server'],
    run: (options) => runKilledClientTrial(options, trialOf(options.trial.params)),
  };
}
