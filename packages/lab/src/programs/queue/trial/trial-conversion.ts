/** The conversion of a trial's queue under load, driven by the coordinator as an operator would. */
import type { ConversionOutcome, Scenario, TickEvent, TimelineBin } from '@shardlab/contract';
import { type ConversionStage, convertQueue } from '@shardlab/engine';
import { LabError } from '../../../errors/errors.ts';
import type { Clock } from '../../../meters/clock.ts';
import type { Gap, Timeline } from './protocol.ts';
import { rateBetween } from './timeline-rates.ts';

/** Draining a bounded backlog never takes this long, unless there is no dequeuer. */
const drainMsMax = 30_000;

export interface TrialConversionOptions {
  dir: string;
  queue: string;
  /** Shards of the sharded queue on each instance. */
  shards: number;
  scenario: Scenario;
  timeline: Timeline;
  clock: Clock;
  /** `agoMs` is 0; the receiver fills it in. */
  onTickEvent(happening: TickEvent): void;
}

export class TrialConversion {
  readonly #options: TrialConversionOptions;
  readonly #stages: { stage: ConversionStage; atMs: number }[] = [];
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #done = Promise.withResolvers<void>();

  /** Schedules the conversion. */
  constructor(options: TrialConversionOptions) {
    this.#options = options;
    const { scenario, timeline, clock } = options;
    const beginMs = timeline.measureAtMs + scenario.conversion!.atMs;
    this.#timer = setTimeout(() => this.#convert(), Math.max(0, beginMs - clock()));
    this.#done.promise.catch(() => {});
  }

  #convert(): void {
    const { dir, queue, shards, clock, onTickEvent } = this.#options;
    onTickEvent({ type: 'converting', instance: 0, agoMs: 0 });
    convertQueue({
      dir,
      queue,
      shards,
      drainMsMax,
      signal: this.#stop.signal,
      onStep: ({ stage }) => this.#stages.push({ stage, atMs: clock() }),
    }).then(
      () => {
        onTickEvent({ type: 'converted', instance: 0, agoMs: 0 });
        this.#done.resolve();
      },
      (cause: unknown) => {
        const sentence = `The conversion of the queue failed: ${(cause as Error).message}`;
        this.#done.reject(new LabError('WORKER_FAILED', { message: sentence, cause }));
      },
    );
  }

  /** Resolves when the queue is sharded. Rejects with `WORKER_FAILED`. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Call it when the conversion is done and the measured phase has ended. `enqueueGaps` are those of all instances. */
  outcome(bins: readonly TimelineBin[], enqueueGaps: readonly Gap[]): ConversionOutcome {
    const { measureAtMs, stopAtMs } = this.#options.timeline;
    const [atMs, doneAtMs] = [this.#stages[0]!.atMs, this.#stages.at(-1)!.atMs];
    const since = (ms: number) => Number((ms - measureAtMs).toFixed(1));
    const around = (rate: 'enqueuePerSec' | 'dequeuePerSec') => {
      const between = (fromMs: number, toMs: number) =>
        rateBetween(bins, rate, { fromMs: since(fromMs), toMs: since(toMs) });
      return {
        before: between(measureAtMs, atMs),
        during: between(atMs, doneAtMs),
        after: between(doneAtMs, stopAtMs),
      };
    };
    return {
      atMs: since(atMs),
      tookMs: Number((doneAtMs - atMs).toFixed(1)),
      steps: this.#stages.flatMap(({ stage, atMs: dueMs }, index) => {
        const next = this.#stages[index + 1];
        if (stage === 'done' || next === undefined) return [];
        return [{ step: stage, atMs: since(dueMs), tookMs: Number((next.atMs - dueMs).toFixed(1)) }];
      }),
      withoutEnqueueMs: longest(enqueueGaps, { fromMs: atMs, toMs: doneAtMs }),
      enqueuePerSec: around('enqueuePerSec'),
      dequeuePerSec: around('dequeuePerSec'),
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.abort();
    if (this.#stages.length > 0) await this.#done.promise.catch(() => {});
  }
}

/** The longest gap after `from` among those that began before `to`; null if one of them never ended. */
function longest(gaps: readonly Gap[], { fromMs, toMs }: Gap): number | null {
  const within = gaps.filter((gap) => gap.toMs > fromMs && gap.fromMs < toMs);
  const ms = Math.max(0, ...within.map((gap) => gap.toMs - Math.max(gap.fromMs, fromMs)));
  return Number.isFinite(ms) ? Number(ms.toFixed(1)) : null;
}
