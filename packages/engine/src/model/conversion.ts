/**
 * The steps that turn an unsharded queue into a sharded one, in the order that the white paper gives under "Converting to
 * JMS sharded queues". The catalog keeps the step that is due. A crash can leave a step done but not recorded, so every
 * step can be repeated. Until `create` the unsharded queue exists and the conversion can be cancelled.
 */
import type { ConversionStage } from '../api/conversion.ts';
import { TransitionTable } from './transition-table.ts';

/** `pass`: the step is done; `refill`: the queue turned out not to be empty; `cancel`: the unsharded queue stays. */
export type ConversionCommand = 'pass' | 'refill' | 'cancel';

export const conversionLife = new TransitionTable<ConversionStage | 'cancelled', ConversionCommand>(
  'a conversion',
  {
    'stop-enqueue': { pass: 'drain', cancel: 'cancelled' },
    drain: { pass: 'stop-dequeue', cancel: 'cancelled' },
    'stop-dequeue': { pass: 'check-empty', cancel: 'cancelled' },
    'check-empty': { pass: 'drop', refill: 'drain', cancel: 'cancelled' },
    drop: { pass: 'size-cache', cancel: 'cancelled' },
    'size-cache': { pass: 'create', cancel: 'cancelled' },
    create: { pass: 'start', cancel: 'cancelled' },
    start: { pass: 'done' },
    done: {},
    cancelled: {},
  },
);

/** The stage after a command, or undefined if the command is not possible in this stage. */
export function nextConversionStage(
  stage: ConversionStage,
  command: ConversionCommand,
): ConversionStage | 'cancelled' | undefined {
  return conversionLife.find(stage, command);
}

export function canCancel(stage: ConversionStage): boolean {
  return nextConversionStage(stage, 'cancel') !== undefined;
}
