/**
 * Keeps the traces of a few messages of a trial. At moments spread over the measured window it chooses the message with the
 * engine's latest event, and reads its events until all consumers have had it, because the engine keeps events of the last
 * seconds only. Messages are traced whether or not they are chosen, so only the reading adds to the load.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { SampledTrace, SampledTraces } from '@shardlab/contract';
import { sampledTraceLimits } from '@shardlab/contract/plain';
import { type MessageEvent, type MessageTrace, QueueError, type TracedMessage } from '@shardlab/engine';
import type { Clock } from './clock.ts';

const { messagesMax, eventsMax, whereaboutsMax } = sampledTraceLimits;

/** An instance, or a connection to one. */
export interface TraceReader {
  messageTrace(queue: string, id: string): Promise<MessageTrace>;
  tracedMessages(queue: string, options: { limit: number }): TracedMessage[] | Promise<TracedMessage[]>;
}

/** A queue whose messages the engine traces. */
export interface TracedQueue {
  traces: TraceReader;
  queue: string;
  /** How many consume each message: subscribers of a topic, 1 for a queue. */
  consumers: number;
}

export class TraceSampler {
  readonly #of: TracedQueue;
  /** Chosen traces by id; undefined until one was read. */
  readonly #chosen = new Map<string, MessageTrace | undefined>();
  readonly #end = new AbortController();
  #sampling: Promise<void> | undefined;

  constructor(of: TracedQueue) {
    this.#of = of;
  }

  /** Samples at moments spread evenly over a window, until `finish`. Times are those of `clock`. */
  start(window: { fromMs: number; toMs: number }, clock: Clock): void {
    this.#sampling = this.#sampleOver(window, clock).catch((error: unknown) => {
      if (!this.#end.signal.aborted) throw error;
    });
  }

  async #sampleOver({ fromMs, toMs }: { fromMs: number; toMs: number }, clock: Clock): Promise<void> {
    const sinceMs = Date.now() - (clock() - fromMs);
    const stepMs = (toMs - fromMs) / messagesMax;
    for (let step = 0; step < messagesMax; step += 1) {
      const atMs = fromMs + (step + 0.5) * stepMs;
      await pause(Math.max(0, atMs - clock()), undefined, { signal: this.#end.signal });
      await this.sample(sinceMs);
    }
  }

  /** Ends the sampling, reads the current traces, and returns all. Call it while the instance is open. */
  async finish(): Promise<SampledTraces> {
    this.#end.abort();
    await this.#sampling;
    await this.read();
    return this.report();
  }

  /** Reads the messages chosen before and chooses one more, if something was recorded of another since `sinceMs`, epoch ms. */
  async sample(sinceMs: number): Promise<void> {
    await this.read();
    const { traces, queue } = this.#of;
    const [latest] = (await whileServed(async () => traces.tracedMessages(queue, { limit: 1 }))) ?? [];
    if (latest === undefined || latest.atMs < sinceMs || this.#chosen.has(latest.id)) return;
    this.#chosen.set(latest.id, undefined);
  }

  /** Reads the traces of the chosen messages that are not yet consumed by all. */
  async read(): Promise<void> {
    const { traces, queue } = this.#of;
    for (const [id, known] of this.#chosen) {
      if (known !== undefined && this.#isConsumed(known)) continue;
      const trace = await whileServed(() => traces.messageTrace(queue, id));
      if (trace !== undefined && trace.events.length > 0) this.#chosen.set(id, trace);
    }
  }

  report(): SampledTraces {
    const read = [...this.#chosen.values()].filter((trace) => trace !== undefined);
    return { messages: read.map((trace) => this.#toSampled(trace)), lost: this.#chosen.size - read.length };
  }

  #isConsumed({ events }: MessageTrace): boolean {
    return consumptionsIn(events).length >= this.#of.consumers;
  }

  #toSampled(trace: MessageTrace): SampledTrace {
    const { id, coverage, events, recorders, whereabouts } = trace;
    const isConsumed = this.#isConsumed(trace);
    const first = events[0]!;
    const last = consumptionsIn(events).at(-1);
    const isWhole = isConsumed && coverage === 'complete' && last !== undefined;
    return {
      id,
      endToEndMs: isWhole ? toMicroseconds(Math.max(0, last.atMs - first.atMs)) : null,
      coverage,
      overwritten: recorders.reduce((sum, { overwritten }) => sum + overwritten, 0),
      events: events.slice(0, eventsMax).map((event) => ({ ...event, atMs: toMicroseconds(event.atMs) })),
      eventsLeftOut: Math.max(0, events.length - eventsMax),
      whereabouts: isConsumed
        ? []
        : whereabouts.filter(({ state }) => state !== 'consumed').slice(0, whereaboutsMax),
    };
  }
}

/** Consumptions by consumers only: an instance that forwards a message also records a consumption, once the message has arrived. */
function consumptionsIn(events: readonly MessageEvent[]): MessageEvent[] {
  const left = new Set(events.filter(({ event }) => event === 'forwarded').map(({ instance }) => instance));
  return events.filter(({ event, instance }) => event === 'consumed' && !left.has(instance));
}

/** Clocks are not read more exactly. */
const toMicroseconds = (ms: number) => Number(ms.toFixed(3));

/** Undefined while an instance fails over: what was read before then remains. */
async function whileServed<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof QueueError) return undefined;
    throw error;
  }
}

/** The traces that the processes of a trial kept; empty if their queue is not traced. */
export function tracesIn(results: readonly { traces: SampledTraces | null }[]): { traces?: SampledTraces } {
  const reports = results.flatMap(({ traces }) => traces ?? []);
  return reports.length === 0 ? {} : { traces: mergeSampledTraces(reports) };
}

/** Merges the traces that the samplers of all instances kept: as many as a trial keeps, evenly chosen over time. */
export function mergeSampledTraces(reports: readonly SampledTraces[]): SampledTraces {
  const byId = new Map<string, SampledTrace>();
  for (const trace of reports.flatMap(({ messages }) => messages)) {
    const known = byId.get(trace.id);
    if (known === undefined || known.events.length < trace.events.length) byId.set(trace.id, trace);
  }
  const all = [...byId.values()].sort((a, b) => a.events[0]!.atMs - b.events[0]!.atMs);
  const kept = Math.min(all.length, messagesMax);
  return {
    messages: Array.from({ length: kept }, (_, index) => all[Math.floor((index * all.length) / kept)]!),
    lost: reports.reduce((sum, { lost }) => sum + lost, 0),
  };
}
