/** Recordings of a trial call by call: swimlanes, the waits of a session, and one transaction in order. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

/** How fast one participant of a trial was, from slice to slice of the measured window. */
export const RateSeries = Type.Object(
  {
    name: Type.String({ description: '"producers", "subscriber 1", "slow consumer"' }),
    sliceMs: Type.Number(),
    perSec: Type.Array(Type.Number(), { description: 'Messages a second, a value for each slice' }),
  },
  closed,
);
export type RateSeries = Static<typeof RateSeries>;

/** The activity of one session after an event that concerns many. Times are microseconds from that event. */
export const Swimlane = Type.Object(
  {
    session: Type.Integer(),
    outcome: Type.Union([
      Type.Literal('posted'),
      Type.Literal('got the message'),
      Type.Literal('woke for nothing'),
      Type.Literal('had the service'),
    ]),
    spans: Type.Array(
      Type.Object(
        {
          kind: Type.String({
            description:
              'mutex and latch: a get. posted, woken, found, found nothing, dequeued: a moment. epoch 7: the time in which a process had the service, called when the one before had ended',
          }),
          calledUs: Type.Number(),
          gotUs: Type.Number({ description: 'Of a get, when it succeeded; until then the session waited' }),
          endedUs: Type.Number({ description: 'Of a get, when it was released' }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type Swimlane = Static<typeof Swimlane>;

/** The calls and waits of one session in the run, in the form in which a database prints them. */
export const SessionWaits = Type.Object(
  {
    session: Type.String({ description: 'Which one: "session 1 on instance 1"' }),
    elapsedMs: Type.Number({
      description: 'Of its part of the run, by a clock of its own: not the sum of cpuMs and the rows',
    }),
    cpuMs: Type.Number({ description: 'Time in which it was on CPU, as its client sees it: see cpuOf' }),
    cpuOf: Type.Optional(
      Type.Union([Type.Literal('client'), Type.Literal('client and engine')], {
        description:
          'client: the engine works in other processes; client and engine: what the engine does for the session on its thread is in cpuMs',
      }),
    ),
    instanceCpuMs: Type.Optional(
      Type.Number({
        description:
          'Where cpuMs is of the client: CPU of the processes of all instances, divided by their sessions',
      }),
    ),
    calls: Type.Optional(Type.Integer()),
    roundTrips: Type.Optional(
      Type.Integer({ description: 'Requests that left its client, or would if it were remote' }),
    ),
    rows: Type.Array(
      Type.Object(
        {
          event: Type.String({
            description:
              'Wait event; "runnable": its thread was busy with others; "unnamed": in a call that named no wait, which explains nothing',
          }),
          waits: Type.Integer(),
          maxMs: Type.Number(),
          totalMs: Type.Number(),
          emulated: Type.Boolean(),
        },
        closed,
      ),
      { description: 'Longest in all first' },
    ),
  },
  closed,
);
export type SessionWaits = Static<typeof SessionWaits>;

/**
 * The share of a session's time that its CPU, its waits and waiting for its thread explain, from 0 to about 1; null if no time
 * elapsed. Calls that named no wait explain nothing.
 */
export function explainedShare({
  elapsedMs,
  cpuMs,
  rows,
}: Pick<SessionWaits, 'elapsedMs' | 'cpuMs' | 'rows'>): number | null {
  if (elapsedMs <= 0) return null;
  const named = rows.filter(({ event }) => event !== 'unnamed');
  return named.reduce((sum, { totalMs }) => sum + totalMs, cpuMs) / elapsedMs;
}

const TraceSpan = Type.Object({ name: Type.String(), fromUs: Type.Number(), toUs: Type.Number() }, closed);

/** One participant of one transaction as it really ran. Times are microseconds from the transaction's first call. */
export const SequenceLane = Type.Object(
  {
    name: Type.String({ description: '"coordinator", "branch 1: session 1 on instance 1"' }),
    calls: Type.Array(TraceSpan, {
      description:
        'Calls in their order, or, of the coordinator, its phases; emulated round trips are before a call',
    }),
    states: Type.Array(Type.Object({ ...TraceSpan.properties, emulated: Type.Boolean() }, closed), {
      description:
        'What the session was in: on CPU, runnable, unnamed or a wait event; none of a coordinator',
    }),
  },
  closed,
);
export type SequenceLane = Static<typeof SequenceLane>;
