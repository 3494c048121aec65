/**
 * A process of the self-test: opens the engine, which may have a bug planted, runs a workload with recorded sessions, and ends
 * by killing itself or with an inspection. Its only argument is the task as JSON.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  type Instance,
  type Message,
  type NewMessage,
  openInstance,
  QueueError,
  serveInstance,
} from '@shardlab/engine';
import { openHistoryFile, RecordedSession, Recorder } from '../src/index.ts';
import { Chance } from './chance.ts';
import { recordOf, type Workload, type WorkloadName, workloads } from './workloads.ts';

export interface WorkerTask {
  dir: string;
  history: string;
  workload: WorkloadName;
  processName: string;
  seed: number;
  /** The engine has no bug planted, so an error that ends a session is a failure. */
  isSound: boolean;
  /** The process kills itself at this commit; undefined: it ends with an inspection. */
  killAtCommit?: number;
}

type Recorded = RecordedSession<Message, NewMessage>;

const queue = 'q';
const producers = 3;
const consumers = 3;
/** How many messages a slow consumer keeps: few enough that their old partition may still be evacuated. */
const slowMessages = 4;
/** Small, so that partitions are truncated and evacuated. */
const partitionMessagesMax = 16;
const chunkBytes = 256 * 1024;
/** How long the last messages may take to arrive at an inspection. */
const arriveMs = 10_000;

const digestOf = (payload: Uint8Array | string) => crc32(payload).toString(16);

class Worker {
  readonly #task: WorkerTask;
  readonly #workload: Workload;
  readonly #recorder: Recorder;
  readonly #chance: Chance;
  readonly #instances: Instance[] = [];
  #commits = 0;
  #sessions = 0;
  #messages = 0;
  /** How many messages the inspection found in the queue itself. */
  #foundInQueue = 0;

  constructor(task: WorkerTask, write: (line: string) => void) {
    this.#task = task;
    this.#workload = workloads[task.workload];
    this.#recorder = new Recorder({ process: task.processName, write });
    this.#chance = new Chance(task.seed);
  }

  async run(): Promise<void> {
    await this.#open();
    await this.#setUp();
    const [first, second = first] = this.#instances as [Instance, Instance?];
    const { slowConsumer = false } = this.#workload;
    const sessions = [
      ...Array.from({ length: producers }, () => this.#runTurns(first, (session) => this.#produce(session))),
      ...Array.from({ length: slowConsumer ? consumers - 1 : consumers }, () =>
        this.#runTurns(second, (session) => this.#consume(session)),
      ),
    ];
    const others = Promise.all(sessions);
    if (slowConsumer) await this.#consumeSlowly(second, others);
    await others;
    if (this.#workload.delayed === true) await this.#consumeDelayed(second);
    await this.#inspect();
    for (const instance of this.#instances) await instance.close();
  }

  async #open(): Promise<void> {
    const { dir } = this.#task;
    const { forwarded = false, cacheBytesMax } = this.#workload;
    for (const id of forwarded ? [1, 2] : [1]) {
      const lease = this.#recorder.begin({ type: 'lease', resource: `instance ${id}` });
      const instance = await openInstance({
        dir,
        instance: id,
        partitionMessagesMax,
        ...(cacheBytesMax !== undefined && { cacheBytesMax }),
      });
      this.#instances.push(instance);
      if (forwarded) await serveInstance(instance, { forwardIdleMs: 20 });
      else await this.#tryToOpenTwice(id);
      lease.end('unknown');
    }
  }

  /** Records an attempt to open the instance a second time, which must fail as long as this process hosts it. */
  async #tryToOpenTwice(instance: number): Promise<void> {
    const lease = this.#recorder.begin({ type: 'lease', resource: `instance ${instance}` });
    try {
      this.#instances.push(await openInstance({ dir: this.#task.dir, instance, partitionMessagesMax }));
      lease.end('ok');
    } catch {
      lease.end('fail');
    }
  }

  async #setUp(): Promise<void> {
    const { spec, ordered = true, forwarded = false, subscribers = [] }: Workload = this.#workload;
    const [instance] = this.#instances as [Instance];
    if (!instance.queues().some(({ name }) => name === queue))
      await instance.createQueue({ forwarding: false, attemptsMax: null, name: queue, ...spec });
    this.#recorder.note({
      type: 'queue',
      queue,
      ordered,
      forwarded,
      topic: spec.type === 'topic',
      priorities: spec.priorities === true,
      ...(typeof spec.attemptsMax === 'number' && { exceptions: `${queue}.exceptions` }),
    });
    for (const subscriber of subscribers) {
      const operation = this.#recorder.begin({ type: 'subscribe', queue, subscriber });
      await instance.subscribe(queue, { name: subscriber });
      operation.end('ok');
    }
  }

  /**
   * Runs the turns of a session. An error of an instance with a planted bug ends the session, and the outcome of its last
   * operation stays unknown.
   */
  async #runTurns(instance: Instance, turn: (session: Recorded) => Promise<void>): Promise<void> {
    const { turns = 40 } = this.#workload;
    let session = this.#newSession(instance);
    try {
      for (let done = 0; done < turns; done += 1) {
        await turn(session);
        if (!this.#chance.percent(3)) continue;
        await session.close();
        session = this.#newSession(instance);
      }
      await session.rollback();
      await session.close();
    } catch (error) {
      if (this.#task.isSound || !(error instanceof QueueError)) throw error;
    }
  }

  #newSession(instance: Instance): Recorded {
    this.#sessions += 1;
    return new RecordedSession(instance.openSession(), {
      recorder: this.#recorder,
      name: `${this.#task.processName}-${this.#sessions}`,
      identify: (message) => this.#identify(message),
      onAcknowledged: () => {
        this.#commits += 1;
        if (this.#commits === this.#task.killAtCommit) process.kill(process.pid, 'SIGKILL');
      },
    });
  }

  #identify(message: Message) {
    const name = message.correlationId ?? message.id;
    if (!message.streamed) return { message: name, digest: digestOf(message.payload) };
    return this.#readStreamed(message, name);
  }

  async #readStreamed(message: Message, name: string): Promise<{ message: string; digest?: string }> {
    let digest = 0;
    try {
      for await (const chunk of message.payloadStream()) digest = crc32(chunk, digest);
    } catch {
      return { message: name, digest: 'unreadable' };
    }
    return { message: name, digest: digest.toString(16) };
  }

  async #commit(session: Recorded): Promise<void> {
    try {
      await session.commit();
    } catch (error) {
      if (!(error instanceof QueueError && error.code === 'RECEIPT_STALE')) throw error;
      await session.rollback();
    }
  }

  async #produce(session: Recorded): Promise<void> {
    const count = 1 + this.#chance.below(4);
    for (let i = 0; i < count; i += 1) await this.#enqueue(session);
    await new Promise(setImmediate); // gives consumers a chance to see staged messages, which they must not
    if (this.#chance.percent(15)) await session.rollback();
    else await this.#commit(session);
    if (this.#chance.percent(30)) await pause(1);
  }

  async #enqueue(session: Recorded): Promise<void> {
    const { processName } = this.#task;
    this.#messages += 1;
    const message = `${processName}.m${this.#messages}`;
    const attributes = this.#workload.vary?.(this.#chance) ?? {};
    const { delayMs } = attributes;
    const record = {
      ...recordOf(this.#workload, { session: session.session.id, message, attributes }),
      ...(delayMs !== undefined && { notBefore: this.#recorder.now() + delayMs * 1e6 }),
    };
    record.stream = `${processName} ${record.stream}`;
    if (this.#workload.streamed === true && this.#chance.percent(40)) {
      const parts = [0, 1, 2].map((part) => Buffer.alloc(chunkBytes, `${message} ${part} `));
      await (session.session as ReturnType<Instance['openSession']>).enqueueStream(queue, {
        ...attributes,
        correlationId: message,
        payload: (async function* () {
          yield* parts;
        })(),
      });
      session.stage(queue, { ...record, digest: digestOf(Buffer.concat(parts)) });
      return;
    }
    const payload = `${message}|${'.'.repeat(this.#chance.below(200))}`;
    const content = { ...attributes, payload, correlationId: message };
    session.enqueue(queue, content, { ...record, digest: digestOf(payload) });
  }

  /**
   * Keeps the first messages that it gets until the others have done their turns, or all are killed: the partitions of these
   * messages become old meanwhile and are evacuated, and consumption of the next ones is merged before they are truncated.
   */
  async #consumeSlowly(instance: Instance, others: Promise<unknown>): Promise<void> {
    const session = this.#newSession(instance);
    await session.dequeue(queue, { max: slowMessages, waitMs: 1_000 });
    await others;
    if (this.#chance.percent(50)) await session.rollback();
    else await this.#commit(session);
    await session.close();
  }

  /** Consumes until no message is delayed, so that one that is delivered before its delay has passed is noticed even on a slow disk. */
  async #consumeDelayed(instance: Instance): Promise<void> {
    const session = this.#newSession(instance);
    const untilMs = performance.now() + arriveMs;
    while (instance.queue(queue).delayed > 0 && performance.now() < untilMs) {
      await this.#consume(session);
      await pause(5);
    }
    await session.rollback();
    await session.close();
  }

  async #consume(session: Recorded): Promise<void> {
    if (this.#workload.timed === true) return this.#consumeTimed(session);
    const { subscribers } = this.#workload;
    const source =
      this.#workload.spec.attemptsMax !== undefined && this.#chance.percent(25)
        ? `${queue}.exceptions`
        : queue;
    const messages = await session.dequeue(source, {
      max: 1 + this.#chance.below(6),
      waitMs: this.#chance.pick([0, 5]),
      ...(subscribers !== undefined && { subscriber: this.#chance.pick(subscribers) }),
    });
    if (messages.length === 0) await pause(1);
    if (this.#chance.percent(25)) return session.rollback();
    if (this.#chance.percent(25) && this.#workload.forwarded !== true) await this.#enqueue(session);
    await this.#commit(session);
  }

  async #consumeTimed(session: Recorded): Promise<void> {
    const holdMs = 10 + this.#chance.below(30);
    const messages = await session.receive(queue, { max: 1 + this.#chance.below(4), waitMs: 5, holdMs });
    const receipts = messages.map(({ receipt }) => receipt);
    if (receipts.length === 0) return;
    const stale = (error: unknown) => {
      if (!(error instanceof QueueError && error.code === 'RECEIPT_STALE')) throw error;
    };
    const draw = this.#chance.below(100);
    if (draw < 20) {
      await session.release(queue, receipts).catch(stale);
      if (draw < 10) await pause(5); // other sessions may receive the released messages now
    } else if (draw < 40) await pause(holdMs * 2);
    else if (draw < 60) {
      await session.extend(queue, receipts, 80).catch(stale);
      await pause(holdMs + 20);
    }
    try {
      session.acknowledge(queue, receipts);
    } catch (error) {
      stale(error);
      return session.rollback();
    }
    await this.#commit(session);
  }

  /** Records everything that is left, as a consumer receives it. Nothing is consumed. */
  async #inspect(): Promise<void> {
    const { subscribers = [undefined], spec } = this.#workload;
    const names = spec.attemptsMax === undefined ? [queue] : [queue, `${queue}.exceptions`];
    const operation = this.#recorder.begin({ type: 'inspection', contents: [] });
    const contents = [];
    for (const name of names) {
      for (const subscriber of subscribers) {
        const messages = await this.#drain(name, subscriber);
        if (name === queue) this.#foundInQueue = messages.length;
        contents.push({ queue: name, ...(subscriber !== undefined && { subscriber }), messages });
      }
    }
    operation.end('ok', { contents });
  }

  async #drain(name: string, subscriber: string | undefined) {
    const session = this.#instances.at(-1)!.openSession();
    const found: { message: string; digest?: string }[] = [];
    for (let quietSince = performance.now(); ; ) {
      const messages = await session.dequeue(name, {
        max: 1_000,
        waitMs: 50,
        ...(subscriber !== undefined && { subscriber }),
      });
      for (const message of messages) found.push(await this.#identify(message));
      if (messages.length > 0) quietSince = performance.now();
      else if (
        performance.now() - quietSince > arriveMs ||
        !(await this.#mayStillArrive(name, subscriber, found.length))
      )
        return found;
    }
  }

  /**
   * Whether messages are ready and still read from the disk, delayed, or on their way between queues or instances. A batch that
   * is being forwarded is held by the instance that sends it until the other one has it.
   */
  async #mayStillArrive(name: string, subscriber: string | undefined, found: number): Promise<boolean> {
    if (subscriber !== undefined) {
      const { messages } = await this.#instances.at(-1)!.browse(name, { subscriber, limit: 1_000 });
      return messages.some(({ state }) => state === 'ready');
    }
    const infos = this.#instances.map((instance) => instance.queue(name));
    const inFlight = infos.reduce(
      (sum, { forwardedIn, forwardedOut }) => sum + forwardedIn - forwardedOut,
      0,
    );
    const held = infos.reduce((sum, info) => sum + info.held, 0);
    if (infos.some(({ ready, delayed }) => ready + delayed > 0) || inFlight !== 0 || held > found)
      return true;
    // A message on its way to the exception queue is counted as held in its own queue until it has arrived.
    return name !== queue && this.#instances[0]!.queue(queue).held > this.#foundInQueue;
  }
}

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 1_000).unref();

const task = JSON.parse(process.argv[2]!) as WorkerTask;
await new Worker(task, openHistoryFile(task.history).write).run();
process.exit(0);
