/**
 * A cluster-wide timer: a message for each tick of a cron expression, exactly once. The message and the time of the tick commit
 * together in the instance's file, so the next active process continues after the last tick that was committed. Ticks during a
 * failover are enqueued late, up to a bound.
 *
 * Ticks follow the wall clock. If it is set back none is repeated; if it is set forward the skipped ones are enqueued at once.
 *
 * Where the clocks of a time zone change, croner follows cron's own rule. A schedule with `*` or a step in its seconds, minutes or
 * hours is an interval: it ticks whenever the zone's clock shows one of its times, so twice if it shows it twice, and not if it
 * skips it. Any other names fixed times: each ticks once that day, at the first of two, or when the clock has skipped it.
 */
import { Cron } from 'croner';
import { limits } from '../../api/limits.ts';
import type { Json, ServiceContext, ServiceSession, SingletonService } from '../../api/service.ts';
import { invalidOption, readNumber, readOptions, readText } from './read-options.ts';

/** A type and not an interface, since only a type is known to be JSON. */
type TimerState = {
  /**
   * The last tick that was enqueued, or the time up to which ticks were skipped; before the first, when the timer was first
   * activated. Epoch ms.
   */
  readonly lastTickMs: number;
  /** Ticks enqueued since then. */
  readonly ticks: number;
  /** Ticks up to this one were missed and too old to be enqueued late; epoch ms, null if there were none. */
  readonly skippedToMs: number | null;
};

/**
 * Options: `schedule`, a cron expression of 5 fields, or 6 with seconds in front; `timezone`, an IANA name, default UTC;
 * `queue`, a sharded queue or topic of the cluster; `payload`, JSON, default null; `catchUpMs`, how late a missed tick
 * is still enqueued, 0 to 7 days, default 1 day. Each message has the service's name as its group key, so that consumers get ticks in order,
 * and the properties `timer` and `tick`, an ISO time.
 */
export function createTimer(options: Json): SingletonService {
  const given = readOptions('timer', options, ['schedule', 'timezone', 'queue', 'payload', 'catchUpMs']);
  const queue = readText(given, 'queue');
  const payload = JSON.stringify(given.payload ?? null);
  const catchUpMs = readNumber(given, 'catchUpMs', {
    least: 0,
    most: limits.timerCatchUpMsMax,
    usual: limits.timerCatchUpMsDefault,
  });
  const schedule = readText(given, 'schedule');
  const cron = readCron(schedule, given.timezone === undefined ? 'UTC' : readText(given, 'timezone'));
  return new TimerService({ cron, queue, payload, catchUpMs });
}

function readCron(schedule: string, timezone: string): Cron {
  try {
    const cron = new Cron(schedule, { timezone, paused: true, fixedTimeRule: 'no-wildcard' });
    cron.nextRun(new Date(0)); // an unknown time zone is noticed only here
    return cron;
  } catch (cause) {
    throw invalidOption(`${schedule} (${timezone}) is no schedule: ${(cause as Error).message}`, cause);
  }
}

interface TimerOptions {
  cron: Cron;
  queue: string;
  payload: string;
  catchUpMs: number;
}

class TimerService implements SingletonService {
  readonly #options: TimerOptions;
  #running: Promise<void> = Promise.resolve();
  #context: ServiceContext<TimerState> | undefined;
  readonly calls = {
    /** `{ lastTickMs, nextTickMs, ticks, skippedToMs }`; `nextTickMs` is null if the schedule has no more. */
    status: (): Json => {
      const state = this.#context!.state!;
      return { ...state, nextTickMs: this.#nextAfter(state.lastTickMs) ?? null };
    },
  };

  constructor(options: TimerOptions) {
    this.#options = options;
  }

  async activate(context: ServiceContext<TimerState>): Promise<void> {
    this.#context = context;
    const session = context.openSession();
    try {
      if (context.state === undefined) {
        session.writeState({ lastTickMs: Math.floor(context.nowMs()), ticks: 0, skippedToMs: null });
        await session.commit();
      }
    } catch (error) {
      await session.close(); // the next attempt opens another one
      throw error;
    }
    this.#running = this.#run(context, session).catch((error: unknown) => context.fail(error));
  }

  async deactivate(): Promise<void> {
    await this.#running;
  }

  async #run(context: ServiceContext<TimerState>, session: ServiceSession): Promise<void> {
    try {
      while (!context.signal.aborted) {
        const state = context.state!;
        const nowMs = context.nowMs();
        const afterMs = this.#skipTooLate(state.lastTickMs, nowMs);
        const due = this.#dueTicks(afterMs, nowMs);
        if (afterMs !== state.lastTickMs) {
          // Recorded even if none is due: a next tick that is in the past would allow no pause before it.
          await this.#enqueue(context, session, { ...state, lastTickMs: afterMs, skippedToMs: afterMs }, due);
        } else if (due.length > 0) {
          await this.#enqueue(context, session, state, due);
        } else {
          const nextMs = this.#nextAfter(afterMs) ?? Number.POSITIVE_INFINITY;
          await context.pause(Math.min(Math.max(1, nextMs - nowMs), limits.timerSleepMsMax));
        }
      }
    } finally {
      await session.close();
    }
  }

  #nextAfter(tickMs: number): number | undefined {
    return this.#options.cron.nextRun(new Date(tickMs))?.getTime();
  }

  /** Returns the time after which ticks are enqueued. A tick that is due now is never too late, however long it had to wait. */
  #skipTooLate(lastTickMs: number, nowMs: number): number {
    const tooLateMs = Math.floor(nowMs - Math.max(this.#options.catchUpMs, limits.timerSleepMsMax));
    const firstMs = this.#nextAfter(lastTickMs);
    return firstMs !== undefined && firstMs <= tooLateMs ? tooLateMs : lastTickMs;
  }

  /** Returns the first ticks after `afterMs` up to `nowMs`, oldest first, as many as fit one commit. */
  #dueTicks(afterMs: number, nowMs: number): number[] {
    const due: number[] = [];
    let tickMs = this.#nextAfter(afterMs);
    while (tickMs !== undefined && tickMs <= nowMs && due.length < limits.timerTicksPerCommitMax) {
      due.push(tickMs);
      tickMs = this.#nextAfter(tickMs);
    }
    return due;
  }

  async #enqueue(
    { name }: ServiceContext,
    session: ServiceSession,
    state: TimerState,
    ticks: readonly number[],
  ): Promise<void> {
    const { queue, payload } = this.#options;
    for (const tickMs of ticks) {
      const tick = new Date(tickMs).toISOString();
      session.enqueue(queue, {
        payload,
        correlationId: `${name}/${tick}`,
        groupKey: name,
        properties: { timer: name, tick },
      });
    }
    session.writeState({
      ...state,
      lastTickMs: ticks.at(-1) ?? state.lastTickMs,
      ticks: state.ticks + ticks.length,
    });
    await session.commit();
  }
}
