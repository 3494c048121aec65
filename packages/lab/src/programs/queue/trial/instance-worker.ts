/**
 * A process of a trial that runs the sessions of one instance. Embedded: it opens the instance itself, so that its CPU
 * time is that of the instance and its load. Remote: it is a client of the process that serves the instance. Ends with
 * its coordinator.
 */
import type { HolderSamples } from '@shardlab/engine';
import { Book } from '../../../integrity/book.ts';
import { PayloadCodec, payloadHeaderBytes } from '../../../integrity/payload.ts';
import { type Clock, createMonotonicClock } from '../../../meters/clock.ts';
import { TraceSampler } from '../../../meters/trace-sampler.ts';
import { assertRows, createRowsTable } from './application-rows.ts';
import { Enqueuer } from './enqueuer.ts';
import { cpuOfGenerator, fastestRound, messagesOfRound } from './generator-costs.ts';
import { type Host, openHost } from './host.ts';
import type { QueueLayout } from './layout.ts';
import { Meter } from './meter.ts';
import type { FromWorker, GeneratorCosts, Timeline, ToWorker, WorkerConfig } from './protocol.ts';
import { startSessions } from './start-sessions.ts';
import { isStreamed, StreamedPayloadCodec } from './streamed-payload.ts';
import { Workload } from './workload.ts';

const browsePage = 500;

/**
 * How often an instance checks whether its part of a backlog that several share has changed enough to be reported. Enqueuers whose
 * messages are dequeued on another instance fill the backlog once between two reports, so a longer interval would bound their rate:
 * 250 ms and a backlog of 2,000 messages make 8,000 a second.
 */
const backlogCheckMs = 5;
/** A change that is reported, as a share of the largest backlog. */
const backlogChangeMin = 1 / 20;

const send = (message: FromWorker): void => {
  // The coordinator may already have ended; then the message is not needed.
  if (process.connected) process.send!(message);
};

class InstanceWorker {
  readonly #config: WorkerConfig;
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #meter: Meter;
  readonly #workload: Workload;
  readonly #enqueuers: readonly Enqueuer[];
  /** Undefined if the queue's kind is not traced. */
  readonly #sampler: TraceSampler | undefined;
  /** Ends the sampling of holders, and returns the samples. */
  #endHolders: (() => HolderSamples[]) | undefined;
  #holders: HolderSamples[] = [];
  #ticks: NodeJS.Timeout | undefined;
  #reportedBacklog = 0;
  #phase: Extract<FromWorker, { type: 'tick' }>['phase'] = 'warmup';

  static async open(config: WorkerConfig): Promise<InstanceWorker> {
    const clock = createMonotonicClock();
    const host = await openHost(config, clock);
    if (config.createsQueues) await createQueues(host, config.layout);
    if (config.rows !== 'none') await createRowsTable(host);
    const made = new InstanceWorker(config, host, clock);
    await made.#fill();
    return made;
  }

  private constructor(config: WorkerConfig, host: Host, clock: Clock) {
    const { payloadBytes, seed, nonce } = config;
    const book = config.book === null ? null : new Book(config.book);
    const streamed = isStreamed(payloadBytes);
    const codec = new PayloadCodec({ bytes: streamed ? payloadHeaderBytes : payloadBytes, seed, nonce });
    const streams = streamed ? new StreamedPayloadCodec({ bytes: payloadBytes, seed, nonce }) : null;
    this.#config = config;
    this.#host = host;
    this.#clock = clock;
    this.#meter = new Meter(host, clock);
    this.#workload = new Workload({ host, config, clock, codec, streams, book, meter: this.#meter });
    this.#enqueuers = config.enqueuers.map((number) => new Enqueuer(this.#workload, number));
    const { queues, dequeueSources } = config.layout;
    const { kind, name: queue } = queues[0]!;
    const consumers = dequeueSources.length;
    if (kind === 'sharded') this.#sampler = new TraceSampler({ traces: host.traces, queue, consumers });
  }

  /** Fills the initial backlog, in equal shares per enqueuer. */
  async #fill(): Promise<void> {
    const { backlog } = this.#config;
    const share = Math.ceil(backlog / Math.max(1, this.#enqueuers.length));
    await Promise.all(
      this.#enqueuers.map((enqueuer, index) => enqueuer.fill(Math.min(share, backlog - index * share))),
    );
    // The initial backlog belongs to no tick.
    this.#meter.tick();
  }

  async run(timeline: Timeline): Promise<void> {
    const { measureAtMs, stopAtMs } = timeline;
    this.#endHolders = this.#host.waits.sampleHolders({
      inMs: measureAtMs - this.#clock(),
      forMs: stopAtMs - measureAtMs,
    });
    await this.#waitUntil(timeline.warmupAtMs);
    this.#ticks = setInterval(() => this.#tick(), this.#config.tickMs);
    const reports = this.#config.sharesBacklog
      ? setInterval(() => this.#reportBacklog(), backlogCheckMs)
      : undefined;
    const { enqueuers, dequeuers } = startSessions(this.#workload, this.#enqueuers);
    // A failing session ends the process at once; waiting for the others would hide the failure until the drain.
    const phases = this.#phases(timeline, enqueuers, dequeuers);
    await Promise.all([enqueuers, dequeuers, phases]);
    clearInterval(this.#ticks);
    clearInterval(reports);
    this.#tick();
    send({ type: 'drained' });
  }

  async #phases(timeline: Timeline, enqueuers: Promise<unknown>, dequeuers: Promise<unknown>): Promise<void> {
    await this.#waitUntil(timeline.measureAtMs);
    this.#phase = 'measure';
    this.#meter.beginWindow();
    this.#sampler?.start({ fromMs: timeline.measureAtMs, toMs: timeline.stopAtMs }, this.#clock);
    await this.#waitUntil((timeline.measureAtMs + timeline.stopAtMs) / 2);
    this.#meter.halveWindow();
    await this.#waitUntil(timeline.stopAtMs);
    this.#meter.endWindow();
    this.#holders = this.#endHolders!();
    this.#phase = 'drain';
    this.#workload.stopEnqueuers();
    await enqueuers;
    send({ type: 'enqueuersDone' });
    await this.#waitUntil(timeline.drainUntilMs, dequeuers);
    this.#workload.endDrain();
  }

  setBacklogShare(messages: number): void {
    this.#workload.gate.setShare(messages);
  }

  seal(): void {
    this.#workload.seal();
  }

  async finish(browse: boolean): Promise<void> {
    if (browse) await this.#browse();
    const ledgers = this.#workload.ledgers.map((ledger) => ledger.report());
    if (this.#config.rows !== 'none') await assertRows(this.#host, ledgers[0]!);
    const window = this.#meter.window();
    const result = {
      window,
      ledgers,
      holders: {
        instance: this.#config.instance,
        names: this.#workload.sessionNames,
        series: this.#holders,
      },
      traces: (await this.#sampler?.finish()) ?? null,
      gaps: this.#meter.gaps.list(),
      enqueueGaps: this.#meter.enqueueGaps.list(),
    };
    await this.#host.close();
    send({ type: 'result', result: { ...result, generator: await this.#measureGenerator(window.ms) } });
  }

  /** Call it after the load, in the same process: there the code is compiled as it was under load. */
  async #measureGenerator(windowMs: number): Promise<GeneratorCosts | null> {
    if (this.#workload.streams !== null) return null;
    const { payloadBytes, operationsPerTransaction: operations } = this.#config;
    const messages = messagesOfRound({ payloadBytes, operations });
    const round = () => cpuOfGenerator({ payloadBytes, operations, messages });
    return await fastestRound(windowMs, round, ({ inUs, outUs }) => inUs + outUs);
  }

  async #browse(): Promise<void> {
    const { streams } = this.#workload;
    for (const [sourceIndex, { queue, subscriber }] of this.#config.layout.dequeueSources.entries()) {
      const whose = subscriber === undefined ? { limit: browsePage } : { limit: browsePage, subscriber };
      const ledger = this.#workload.ledgers[sourceIndex]!;
      let after: string | undefined;
      do {
        const options = after === undefined ? whose : { ...whose, after };
        const { messages, next } = await this.#host.browse(queue, options);
        for (const message of messages) {
          if (streams === null) ledger.recordRemaining(message);
          else ledger.recordCheckedRemaining(await streams.check(message.payloadStream()));
        }
        after = next ?? undefined;
      } while (after !== undefined);
    }
  }

  #tick(): void {
    const { lastTickMs: fromMs } = this.#meter;
    const sample = this.#meter.tick();
    const { lastTickMs: toMs } = this.#meter;
    send({ type: 'tick', phase: this.#phase, sample, fromMs, toMs });
  }

  #reportBacklog(): void {
    const { layout, backlogMax } = this.#config;
    const { enqueued, consumed } = this.#meter;
    const messages = enqueued - consumed / layout.dequeueSources.length;
    if (Math.abs(messages - this.#reportedBacklog) < backlogChangeMin * backlogMax) return;
    this.#reportedBacklog = messages;
    send({ type: 'backlog', messages });
  }

  /** Resolves at a time of the timeline, or earlier when `other` has settled. */
  async #waitUntil(atMs: number, unless?: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(0, atMs - this.#clock()));
    await (unless === undefined ? promise : Promise.race([promise, unless]));
    clearTimeout(timer);
  }
}

async function createQueues(host: Host, { queues, dequeueSources }: QueueLayout): Promise<void> {
  // Whatever a fault returns, and however often, must stay in its queue to be counted.
  for (const queue of queues) await host.createQueue({ attemptsMax: null, ...queue });
  for (const { queue, subscriber } of dequeueSources)
    if (subscriber !== undefined) await host.subscribe(queue, { name: subscriber });
}

let worker: InstanceWorker | null = null;

async function handleMessage(message: ToWorker): Promise<void> {
  switch (message.type) {
    case 'open':
      worker = await InstanceWorker.open(message.config);
      return send({ type: 'opened' });
    case 'run':
      return worker!.run(message.timeline);
    case 'backlogShare':
      return worker!.setBacklogShare(message.messages);
    case 'sealed':
      return worker!.seal();
    case 'finish':
      return worker!.finish(message.browse);
  }
}

function fail(error: unknown): void {
  const { code, message, details, stack } = error as Error & {
    code?: string;
    details?: Record<string, unknown>;
  };
  send({
    type: 'failed',
    code: code ?? 'INTERNAL',
    message: message ?? String(error),
    details: { ...details },
    stack: stack ?? '',
  });
}

// The coordinator closes the channel once it has the result. If it died instead, this process must end too.
process.on('disconnect', () => process.exit(0));
// A terminal sends SIGINT to the whole process group; the coordinator decides what it means for the trial.
process.on('SIGINT', () => {});
process.on('uncaughtException', fail);
process.on('message', (message: ToWorker) => void handleMessage(message).catch(fail));
