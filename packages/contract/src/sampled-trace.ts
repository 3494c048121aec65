/** Traces of single messages that a trial kept, read from the engine's trace while the trial ran. */
import Type, { type Static } from 'typebox';
import { MessageEvent, MessageTrace, MessageWhereabouts } from './message-trace.ts';
import { sampledTraceLimits } from './sampled-trace-limits.ts';

const closed = { additionalProperties: false } as const;

const { coverage } = MessageTrace.properties;

export const SampledTrace = Type.Object(
  {
    id: Type.String(),
    endToEndMs: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description:
        'From its enqueue, which is known in whole milliseconds, to its consumption by the last subscriber; null if the trace does not have both',
    }),
    coverage,
    overwritten: Type.Integer({
      minimum: 0,
      description: 'Events of all messages that later ones had taken the place of when it was read',
    }),
    events: Type.Array(MessageEvent, {
      maxItems: sampledTraceLimits.eventsMax,
      description: 'The oldest first',
    }),
    eventsLeftOut: Type.Integer({
      minimum: 0,
      description: 'Later events that were recorded and are not kept here',
    }),
    whereabouts: Type.Array(MessageWhereabouts, {
      maxItems: sampledTraceLimits.whereaboutsMax,
      description: 'Where it was when it was read last; of a message that was consumed by all, nothing',
    }),
  },
  closed,
);
export type SampledTrace = Static<typeof SampledTrace>;

export const SampledTraces = Type.Object(
  {
    messages: Type.Array(SampledTrace, {
      maxItems: sampledTraceLimits.messagesMax,
      description: 'In the order of their first events',
    }),
    lost: Type.Integer({
      minimum: 0,
      description:
        'Messages that were chosen too, and of which nothing was left when they were read: later events were recorded over theirs, or their instance had ended',
    }),
  },
  closed,
);
export type SampledTraces = Static<typeof SampledTraces>;
