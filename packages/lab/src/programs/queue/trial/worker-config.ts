/** The configuration of an instance's process for its trial. */
import { instanceOfThread, type Scenario } from '@shardlab/contract';
import type { OrderScope } from '../../../integrity/ledger.ts';
import { sharesOneTable } from '../../../systems/queue-systems.ts';
import type { Trial, TrialOptions } from '../../../trial/trial.ts';
import { queueParamsOf } from '../points/queue-params.ts';
import { layoutOf } from './layout.ts';
import type { OtherHost, WorkerConfig } from './protocol.ts';
import { isStreamed } from './streamed-payload.ts';

export interface QueueTrialOptions extends TrialOptions {
  /** Default: the engine. Only impostors have another host (`src/impostors/`): no scenario can name it. */
  otherHost?: OtherHost;
}

/** Interval of ticks; shorter if faults or conversions, which may take less than one, are observed. */
const tickMs = 250;
const disruptedTickMs = 100;

/** Whether a fault or a conversion changes what the trial does on the way. */
export const isDisrupted = ({ faults, conversion }: Scenario) =>
  faults !== undefined || conversion !== undefined;
export const tickMsOf = (scenario: Scenario) => (isDisrupted(scenario) ? disruptedTickMs : tickMs);

/** The configuration of an instance's process. */
export function configFor(
  instance: number,
  { trial, scenario, dir, otherHost }: QueueTrialOptions,
): WorkerConfig {
  const params = queueParamsOf(trial.params);
  const { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction, backlog, sessions } =
    params;
  const everyone = Array.from({ length: threads }, (_, index) => index);
  const enqueuers = everyone.filter((enqueuer) => instanceOfThread(enqueuer, params) === instance);
  const isOtherInstance = params.dequeuers === 'other-instance';
  const feeder = isOtherInstance ? 1 + ((instance - 2 + instances) % instances) : instance;
  return {
    dir,
    instance,
    sessions,
    layout: layoutOf(trial),
    createsQueues: instance === 1,
    cacheBytesMax: cacheBytesMax(trial),
    enqueuers,
    // Every instance has consumers for its messages, or all its messages are forwarded to the next instance.
    dequeuers: everyone.filter((enqueuer) => instanceOfThread(enqueuer, params) === feeder).length,
    forwardsFrom: isOtherInstance ? [feeder] : [],
    backlog: Math.round((backlog * enqueuers.length) / threads),
    payloadBytes,
    operationsPerTransaction,
    rows: params.rows,
    backlogMax: params.backlogMax,
    roundTripMs,
    orderScope: orderScopeOf(trial),
    // A queue that is converted to a sharded one has no order over all instances.
    isShared: sharesOneTable(trial.system) && scenario.conversion === undefined,
    sharesBacklog: instances > 1 && (sharesOneTable(trial.system) || isOtherInstance),
    converts: scenario.conversion !== undefined,
    tickMs: tickMsOf(scenario),
    seed: scenario.seed,
    nonce: (scenario.seed * 31 + trial.index + 1) >>> 0,
    book: null,
    otherHost: otherHost ?? null,
  };
}

export function cacheBytesMax({ params }: Trial): number | null {
  const { cacheMiB } = queueParamsOf(params);
  return cacheMiB === undefined ? null : cacheMiB * 1024 ** 2;
}

/**
 * Over a socket, responses to several sessions may be processed in a different order than they were sent, and a streamed
 * payload is identified only when it was read completely.
 */
function orderScopeOf({ system, params }: Trial): OrderScope {
  const { payloadBytes, sessions } = queueParamsOf(params);
  if (sharesOneTable(system) || isStreamed(payloadBytes)) return 'session';
  return sessions === 'remote' ? 'sight' : 'instance';
}
