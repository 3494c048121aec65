/** Messages between the supervisor of a cluster and the process of an instance. */

import type { QueueErrorCode } from '../../api/errors.ts';
import type { InstanceOptions } from '../../api/instance.ts';
import type { InstanceId, RequestNumber } from '../../model/ids.ts';
import type { ProcessExtensionSpec, ProcessStats } from '../cluster.ts';
import type { ClusterEvent } from '../cluster-events.ts';

export interface InstanceProcessOptions extends Omit<InstanceOptions, 'instance'> {
  instance: InstanceId;
  /** The instance is new or was leaving: it becomes a member with this process. */
  joins: boolean;
  writerSilentMsMax: number;
  extension?: ProcessExtensionSpec;
}

export type SupervisorMessage =
  | { type: 'open'; options: InstanceProcessOptions }
  /** Start taking over instances that no process serves. */
  | { type: 'start-failover' }
  /** Stop taking over instances. */
  | { type: 'stop-failover' }
  /** Close all hosted instances in order and end the process. */
  | { type: 'close' }
  | { type: 'stats'; request: RequestNumber };

export type InstanceProcessMessage =
  | { type: 'opened' }
  | { type: 'failed'; code: QueueErrorCode; message: string; details: Record<string, unknown> }
  | { type: 'failover-stopped' }
  | { type: 'event'; event: ClusterEvent }
  | { type: 'stats'; request: RequestNumber; stats: ProcessStats };
