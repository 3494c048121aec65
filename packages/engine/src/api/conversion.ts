/** The conversion of an unsharded queue to a sharded one, as its caller sees it. Its rules are in `model/conversion.ts`. */
import type { QueueInfo, QueueSpec } from './queue.ts';

export const conversionSteps = [
  /** Commits no longer put messages into the unsharded queue. */
  'stop-enqueue',
  /** Its consumers take the messages that it still holds. */
  'drain',
  /** It delivers nothing more. */
  'stop-dequeue',
  /** It is verified to hold no message, whether ready or held. */
  'check-empty',
  /** Its rows are deleted from the unsharded file. */
  'drop',
  /** The bound of the message cache is set, if one was asked for. */
  'size-cache',
  /** A sharded queue takes its place in the catalog, under the same name. */
  'create',
  'start',
] as const;

export type ConversionStep = (typeof conversionSteps)[number];

/** The step that is due, or `done`. */
export type ConversionStage = ConversionStep | 'done';

export interface ConvertOptions
  extends Pick<QueueSpec, 'shards' | 'priorities' | 'attemptsMax' | 'retryDelayMs'> {
  /** Folder of the cluster; its instances may be running meanwhile. */
  dir: string;
  queue: string;
  /** Bound of the message cache, in bytes, for every instance opened without one of its own. Default: unchanged. */
  cacheBytesMax?: number;
  /** How long consumers may take to empty the queue. Default: ten minutes. */
  drainMsMax?: number;
  /** Stops driving the conversion: it stays at its step, and can be continued or cancelled later. */
  signal?: AbortSignal;
  /** Called with each step that becomes due, and at the end. */
  onStep?(conversion: Conversion): void;
}

/** Progress of a conversion. The catalog keeps it until the queue is dropped. */
export interface Conversion {
  queue: string;
  /** The step that is due. */
  stage: ConversionStage;
  /** All steps in order, each with the time when it was done. */
  steps: { step: ConversionStep; passedAtMs: number | null }[];
  startedAtMs: number;
  /** Whether the unsharded queue still exists, so that cancelling brings it back into service. */
  canCancel: boolean;
  /** Settings of the sharded queue. */
  settings: Pick<QueueInfo, 'shards' | 'durability' | 'priorities' | 'attemptsMax' | 'retryDelayMs'> & {
    cacheBytesMax: number | null;
  };
}
