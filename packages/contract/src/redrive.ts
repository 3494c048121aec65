/** Moving messages from one queue to another, as from an exception queue back to the queue they came from. */
import Type, { type Static } from 'typebox';
import { QueueName } from './queue.ts';
import { queueLimits } from './queue-limits.ts';

const closed = { additionalProperties: false } as const;

export const Redrive = Type.Object(
  {
    to: Type.Optional({
      ...QueueName,
      description: 'Default: the queue whose exception queue this one is',
    }),
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.messagesPerCallMax,
        description:
          'Messages to move in one transaction, oldest first in each shard; default 100. Fewer are moved if they have more than some 30 MiB together',
      }),
    ),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Only counts what would be moved, however large it is' }),
    ),
  },
  closed,
);
export type Redrive = Static<typeof Redrive>;

export const Redriven = Type.Object(
  {
    to: Type.String(),
    messages: Type.Integer({ description: 'Moved, or that would be' }),
    left: Type.Integer({ description: 'Ready messages that remain in this queue' }),
  },
  closed,
);
export type Redriven = Static<typeof Redriven>;
