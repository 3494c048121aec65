/** The holders of a wait event's resource and the sessions that waited for it: samples over the measured window of a trial. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

export const eventHoldersLimits = {
  /** Samples of an event; past this every second one is dropped. A sample with all its sessions has about 150 bytes. */
  samplesMax: 256,
  /** Sessions that are listed: those that wait or hold most often. */
  sessionsMax: 128,
} as const;

export const HolderSample = Type.Object(
  {
    holder: Type.Union([Type.Integer({ minimum: 0 }), Type.String(), Type.Null()], {
      description:
        'Index of a session in sessions, or a phrase for another kind of holder ("group 812 of 31 transactions"); null: it was free',
    }),
    waiters: Type.Integer({
      minimum: 0,
      description: 'How many sessions wait, also of those without a name here',
    }),
    waiting: Type.String({
      pattern: '^[01]*$',
      description: 'A digit for each element of sessions: 1 waits, 0 does not',
    }),
  },
  closed,
);
export type HolderSample = Static<typeof HolderSample>;

export const EventHolders = Type.Object(
  {
    event: Type.String({ description: 'Wait event of the sessions that wait' }),
    instance: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'Whose holder it is; null: there is one for all instances',
    }),
    everyMs: Type.Number({
      exclusiveMinimum: 0,
      description: 'Time between two samples; the first is of the start of the measured window',
    }),
    sessions: Type.Array(Type.String(), {
      maxItems: eventHoldersLimits.sessionsMax,
      description: 'Those that hold or wait in a sample: "dequeuer 2.3" is the third dequeuer of instance 2',
    }),
    samples: Type.Array(HolderSample, { maxItems: eventHoldersLimits.samplesMax }),
    holds: Type.Integer({
      minimum: 0,
      description: 'Number of holds that began and ended in the window, sampled or not',
    }),
    heldMs: Type.Number({ minimum: 0, description: 'Their time in all' }),
  },
  closed,
);
export type EventHolders = Static<typeof EventHolders>;
