/** What the supervisor of a cluster and the process of an instance say to each other. */
import type { QueueErrorCode } from '../../core/errors.ts';
import type { InstanceOptions } from '../../types.ts';
import type { ClusterEvent } from '../cluster-events.ts';
import type { ProcessStats } from './cluster.ts';

export interface ProcessOptions extends Omit<InstanceOptions, 'instance'> {
  instance: number;
  writerSilentMsMax: number;
}

export type ToProcess =
  | { type: 'open'; options: ProcessOptions }
  /** Take over from now on what nobody serves. */
  | { type: 'watch' }
  /** Take nothing over any more. */
  | { type: 'retire' }
  /** Close in order and end; what is closed is free for others. */
  | { type: 'close' }
  | { type: 'stats'; request: number };

export type FromProcess =
  | { type: 'opened' }
  | { type: 'failed'; code: QueueErrorCode; message: string; details: Record<string, unknown> }
  | { type: 'retired' }
  | { type: 'event'; event: ClusterEvent }
  | { type: 'stats'; request: number; stats: ProcessStats };
