/**
 * A timer in the nights in which the clocks of its time zone change, against an oracle that reads the zone's clock minute by
 * minute: intervals tick whenever the clock shows one of their times, fixed times once a night.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message, ServiceContext, ServiceSession } from '../../src/index.ts';
import { createTimer } from '../../src/singletons/built-in/timer.ts';

const minuteMs = 60_000;

interface Night {
  timezone: string;
  from: string;
  to: string;
}

const nights: Readonly<Record<string, Night>> = {
  'Berlin, back': { timezone: 'Europe/Berlin', from: '2026-10-24T22:00Z', to: '2026-10-25T05:00Z' },
  'Berlin, forward': { timezone: 'Europe/Berlin', from: '2026-03-28T22:00Z', to: '2026-03-29T05:00Z' },
  'New York, back': { timezone: 'America/New_York', from: '2026-11-01T04:00Z', to: '2026-11-01T10:00Z' },
  'New York, forward': { timezone: 'America/New_York', from: '2026-03-08T04:00Z', to: '2026-03-08T10:00Z' },
  // Half an hour: 2:00 becomes 1:30, and 2:30.
  'Lord Howe, back': { timezone: 'Australia/Lord_Howe', from: '2026-04-04T12:00Z', to: '2026-04-04T18:00Z' },
  'Lord Howe, forward': {
    timezone: 'Australia/Lord_Howe',
    from: '2026-10-03T12:00Z',
    to: '2026-10-03T18:00Z',
  },
};

/** A schedule as text, and what its fields mean. */
interface Schedule {
  text: string;
  isInterval: boolean;
  names(minute: number, hour: number): boolean;
}

interface Field {
  text: string;
  values: readonly number[];
}

const upTo = (end: number, step = 1, start = 0) =>
  Array.from({ length: Math.ceil((end - start) / step) }, (_, index) => start + index * step);

function scheduleOf(minutes: Field, hours: Field): Schedule {
  return {
    text: `${minutes.text} ${hours.text} * * *`,
    isInterval: /[*/]/.test(minutes.text + hours.text),
    names: (minute, hour) => minutes.values.includes(minute) && hours.values.includes(hour),
  };
}

const every: Field = { text: '*', values: upTo(60) };
const at = (value: number): Field => ({ text: String(value), values: [value] });
const stepOf = (step: number, end: number): Field => ({ text: `*/${step}`, values: upTo(end, step) });

/** What must tick in a night, ISO times to the minute, as its zone's clock shows them. */
function expected({ timezone, from, to }: Night, schedule: Schedule): string[] {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  const shownAt = (atMs: number) => {
    const [hour, minute] = clock.format(atMs).split(':').map(Number);
    return hour! * 60 + minute!;
  };
  const seen = new Set<number>();
  const ticks: string[] = [];
  let before = shownAt(Date.parse(from));
  for (let atMs = Date.parse(from) + minuteMs; atMs <= Date.parse(to); atMs += minuteMs) {
    const shown = shownAt(atMs);
    const passed = (shown - before + 1_440) % 1_440;
    before = shown;
    // Steps of the clock are shorter than an hour and a half here: a longer one is a step back.
    const skipped = passed > 1 && passed < 90 ? upTo(passed - 1).map((index) => shown - 1 - index) : [];
    const isNamed = (time: number) => schedule.names(time % 60, Math.floor(time / 60));
    const isDue = isNamed(shown) && (schedule.isInterval || !seen.has(shown));
    if (isDue || (!schedule.isInterval && skipped.some(isNamed))) ticks.push(toMinute(atMs));
    seen.add(shown);
  }
  return ticks;
}

const toMinute = (atMs: number) => new Date(atMs).toISOString().slice(0, 16);

/** The ticks of the built-in service in a night, which goes by as fast as the service asks for pauses. */
async function ticksOf({ timezone, from, to }: Night, schedule: string): Promise<string[]> {
  const [startMs, endMs] = [Date.parse(from), Date.parse(to)];
  let nowMs = startMs;
  let state: unknown;
  const ticks: string[] = [];
  const ending = new AbortController();
  const context = {
    name: 'night',
    signal: ending.signal,
    nowMs: () => nowMs,
    get state() {
      return state;
    },
    fail: (error: unknown) => {
      throw error;
    },
    openSession: (): Partial<ServiceSession> => {
      let next: unknown;
      return {
        enqueue: (_queue: string, { properties }: Pick<Message, 'properties'>) => {
          ticks.push(toMinute(Date.parse(String(properties?.tick))));
        },
        writeState: (written: unknown) => {
          next = written;
        },
        commit: async () => {
          state = next;
          return undefined as never;
        },
        close: async () => undefined,
      } as unknown as Partial<ServiceSession>;
    },
    // A timer sleeps a second at most, to notice a clock that was set. It may sleep longer here, since a late tick has its own time.
    pause: async () => {
      nowMs += 10 * minuteMs;
      if (nowMs > endMs) ending.abort();
    },
  };
  const timer = createTimer({ schedule, timezone, queue: 'q' });
  await timer.activate(context as unknown as ServiceContext);
  await timer.deactivate();
  return ticks;
}

describe.each(Object.entries(nights))('the night of %s', (_name, night) => {
  it.each<[string, Schedule]>([
    ['each minute', scheduleOf(every, every)],
    ['each quarter of an hour', scheduleOf(stepOf(15, 60), every)],
    ['each hour', scheduleOf(at(40), every)],
    ['each two hours', scheduleOf(at(0), stepOf(2, 24))],
    ...[1, 2, 3].flatMap((hour) =>
      [0, 30, 45].map((minute): [string, Schedule] => [
        `${hour}:${String(minute).padStart(2, '0')}`,
        scheduleOf(at(minute), at(hour)),
      ]),
    ),
  ])('ticks as its clock shows it: %s', async (_schedule, schedule) => {
    const ticks = await ticksOf(night, schedule.text);
    expect(ticks).toEqual(expected(night, schedule));
    if (!schedule.isInterval) expect(ticks).toHaveLength(1);
  });
});

it('goes on each quarter of an hour while a zone sets its clock back', async () => {
  const ticks = await ticksOf(nights['Berlin, back']!, '*/15 * * * *');
  const gapsMs = ticks.slice(1).map((tick, index) => Date.parse(`${tick}Z`) - Date.parse(`${ticks[index]}Z`));
  expect(new Set(gapsMs)).toEqual(new Set([15 * minuteMs]));
});

it('ticks right after the gap for a fixed time that the clock skips', async () => {
  expect(await ticksOf(nights['Berlin, forward']!, '30 2 * * *')).toEqual(['2026-03-29T01:00']);
  expect(await ticksOf(nights['Lord Howe, forward']!, '15 2 * * *')).toEqual(['2026-10-03T15:30']);
});

it('ticks as the clock shows it, whatever the schedule', async () => {
  const field = (end: number): fc.Arbitrary<Field> => {
    const value = fc.integer({ min: 0, max: end - 1 });
    return fc.oneof(
      fc.constant({ text: '*', values: upTo(end) }),
      value.map(at),
      fc.integer({ min: 2, max: 20 }).map((step) => stepOf(step, end)),
      fc
        .uniqueArray(value, { minLength: 2, maxLength: 4 })
        .map((values) => ({ text: values.join(), values })),
      fc.tuple(value, value).map(([a, b]) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        return { text: `${low}-${high}`, values: upTo(high + 1, 1, low) };
      }),
    );
  };
  // The hours in which clocks change, more often than others.
  const hours = fc.oneof(field(24), fc.integer({ min: 0, max: 4 }).map(at));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.values(nights)),
      field(60),
      hours,
      async (night, minutes, hour) => {
        const schedule = scheduleOf(minutes, hour);
        expect(await ticksOf(night, schedule.text), schedule.text).toEqual(expected(night, schedule));
      },
    ),
    { numRuns: 60 },
  );
});
