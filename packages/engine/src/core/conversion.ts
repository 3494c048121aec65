/**
 * How an unsharded queue becomes a sharded one, step by step, as the white paper lists it under "Converting to JMS
 * sharded queues". The catalog keeps the step that is due; a step that was done and not noted is done again, so each of
 * them can be repeated. Up to `create` the old queue is there and the way back is open; from then on only the new one is.
 */

export const conversionSteps = [
  /** No commit puts a message into the old queue any more. */
  'stop-enqueue',
  /** Its consumers take what it holds. */
  'drain',
  /** Nothing is handed out any more. */
  'stop-dequeue',
  /** It holds nothing: neither messages that wait nor any in somebody's hands. */
  'check-empty',
  /** What its table and its index have of it goes. */
  'drop',
  'size-cache',
  /** A sharded queue takes its place in the catalog, under the same name. */
  'create',
  'start',
] as const;

export type ConversionStep = (typeof conversionSteps)[number];
/** The step that is due, or `done`. */
export type ConversionStage = ConversionStep | 'done';
/** `pass`: the step is done; `refill`: the queue is not empty after all; `cancel`: the old queue goes on. */
export type ConversionCommand = 'pass' | 'refill' | 'cancel';

type Row = Partial<Record<ConversionCommand, ConversionStage | 'cancelled'>>;

const table: Readonly<Record<ConversionStage, Row>> = {
  'stop-enqueue': { pass: 'drain', cancel: 'cancelled' },
  drain: { pass: 'stop-dequeue', cancel: 'cancelled' },
  'stop-dequeue': { pass: 'check-empty', cancel: 'cancelled' },
  'check-empty': { pass: 'drop', refill: 'drain', cancel: 'cancelled' },
  drop: { pass: 'size-cache', cancel: 'cancelled' },
  'size-cache': { pass: 'create', cancel: 'cancelled' },
  create: { pass: 'start', cancel: 'cancelled' },
  start: { pass: 'done' },
  done: {},
};

/** Undefined: the command is not possible there. */
export function afterCommand(
  stage: ConversionStage,
  command: ConversionCommand,
): ConversionStage | 'cancelled' | undefined {
  return table[stage][command];
}

export function canCancel(stage: ConversionStage): boolean {
  return afterCommand(stage, 'cancel') !== undefined;
}
