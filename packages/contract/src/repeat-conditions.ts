/** The conditions under which a repeat was measured, and what a kill showed about durability. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Bounds within which a repeat counts. The reasons are in docs/decisions/repeats-that-count.md. */
export const repeatLimits = {
  /** Largest difference between the rates of the window's halves, of enqueues or of dequeues, as a share of the first half's. */
  rateDriftMax: 0.15,
  /** Growth of the backlog in the window, in either direction, as a share of the messages dequeued in it. */
  backlogDriftMax: 0.05,
  /** CPU of other processes during the trial, as a share of the machine's. */
  otherCpuShareMax: 0.15,
  /** Median sync beside the trial ÷ that at the start of the run. */
  syncRatioMax: 2,
  /** A sync that is slower by less than this, milliseconds, is no disturbance, whatever the ratio. */
  syncSlowerMsMin: 0.25,
} as const;

/** Whether the first and the second half of the measured window agree, by the instances' counters at its middle. */
export const Steadiness = Type.Object(
  {
    rateDrift: Type.Number({
      description:
        'Rate of the second half ÷ that of the first, less 1: of enqueues and dequeues the one that changed more',
    }),
    backlogDrift: Type.Number({
      description: 'Messages by which the backlog grew in the window ÷ messages dequeued in it',
    }),
    isSteady: Type.Boolean(),
  },
  { ...closed, description: 'Left out with faults or a conversion: there the halves are not meant to agree' },
);
export type Steadiness = Static<typeof Steadiness>;

/** Other activity on the machine during the trial. */
export const Disturbance = Type.Object(
  {
    otherCpuShare: nullable(
      Type.Number({ description: "CPU of other processes as a share of the machine's, 0 to 1" }),
    ),
    syncRatio: Type.Number({
      description: 'Median sync beside the trial (the slower of before and after) ÷ at the start of the run',
    }),
    isDisturbed: Type.Boolean(),
  },
  { ...closed, description: 'otherCpuShare is null where the system does not tell (it is read from /proc)' },
);
export type Disturbance = Static<typeof Disturbance>;

/** The repeats of a point that do not count, although each was measured again as often as the run had time for. */
export const PointConditions = Type.Object(
  {
    notSteady: Type.Integer({ description: 'Repeats whose halves do not agree' }),
    disturbed: Type.Integer({ description: 'Repeats during which other work used the CPU or the disk' }),
    measuredAgain: Type.Integer({
      description: 'Attempts that were replaced because they were not steady or disturbed',
    }),
    contradictions: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Contradictions between the measurements of a repeat, such as its waits against the times of its writer; a sentence for each such repeat, left out if there is none',
      }),
    ),
  },
  closed,
);
export type PointConditions = Static<typeof PointConditions>;

/** Whether the durability of a point's system was tried by killing its processes. */
export const DurabilityEvidence = Type.Union(
  [
    Type.Literal('shown'),
    Type.Literal('not shown'),
    Type.Literal('not promised'),
    Type.Literal('not sampled'),
  ],
  {
    description:
      'shown: after a kill of all processes under load, new processes found everything acknowledged; not shown: they did not; not promised: messages in memory, or synced only after they are acknowledged, whose loss is no fault; not sampled: another point of the run was killed, or none',
  },
);
export type DurabilityEvidence = Static<typeof DurabilityEvidence>;

/** A trial whose processes were all killed under load, and what new processes found in its folder. */
export const KilledTrial = Type.Object(
  {
    durability: Type.String({
      description:
        'Of the queue: what its acknowledgement promises. Of Redis: snapshot, everysec or always, when it writes and syncs',
    }),
    enqueued: Type.Integer({ description: 'Messages of acknowledged transactions before the kill' }),
    consumed: Type.Integer({ description: 'Deliveries of acknowledged transactions before the kill' }),
    inDoubt: Type.Integer({
      description: 'Messages of transactions under way at the kill, which may have happened or not',
    }),
    recovered: Type.Integer({ description: 'Messages that the new processes delivered or browsed' }),
    lost: Type.Integer({ description: 'Acknowledged, and neither recovered nor consumed' }),
    duplicated: Type.Integer({ description: 'Recovered although consumed by an acknowledged transaction' }),
    damaged: Type.Integer({ description: 'Recovered with a wrong checksum, or never enqueued' }),
    outOfOrder: Type.Integer({ description: "Recovered after a later message of their enqueuer's" }),
    left: Type.Integer({ description: 'Recovered by browsing, because the drain was over' }),
  },
  closed,
);
export type KilledTrial = Static<typeof KilledTrial>;
