/**
 * Moves a queue from JetStream to the local engine, with its messages and its exception queue, in steps that can be killed at any
 * point and repeated.
 *
 * The stream's metadata records the progress of the move, and the stream stays complete until the local queue has all of it. A
 * copy is repeated without doubling anything: each of its commits has an idempotency key that follows from what it copies, and a
 * stopped stream without holders changes in one way only, when a delayed message becomes due. Each of those is copied by a commit
 * of its own, under the id that it keeps. The local queue is stopped for dequeue until it has everything.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { nuid } from '@nats-io/transport-node';
import {
  type BrowsedMessage,
  type NewMessage,
  QueueError,
  type QueueSpec,
  type Session,
} from '@shardlab/engine';
import { exceptionQueueName, fieldsOf, validateQueueSpec } from '@shardlab/engine/store-rules';
import { unsupported } from '../capabilities.ts';
import { dueAtMs, type StoredMessage } from '../message-coding.ts';
import { MessagePuller } from '../pull-messages.ts';
import { QueueCatalog } from '../queue-catalog.ts';
import { type QueueRow, rowOfStream } from '../queue-config.ts';
import { type LinkOptions, ServerLink } from '../server-link.ts';
import { storeLimits } from '../store-limits.ts';
import { assertWhole, browseAll, findLocal, type LocalQueues, notDrained } from './local-queues.ts';
import { assertMoveOptions, moveKinds } from './move-options.ts';
import { type LeaveRecord, leaveRecordOf, withLeaveRecord } from './move-record.ts';
import type { MoveStep } from './move-steps.ts';
import { type StoredEntry, storedMessages } from './stored-messages.ts';
import { Undo } from './undo.ts';

export interface MoveToLocalOptions extends LinkOptions {
  local: LocalQueues;
  queue: string;
  /** How long holders of messages may take to finish, ms; default 600,000. */
  drainMsMax?: number;
  signal?: AbortSignal;
  /** Called before each step. A test kills the process here. */
  onStep?: (step: MoveStep) => void | Promise<void>;
}

/** Sessions of other processes have noticed a stop after this long: see `queueRowMsMax`. */
const stoppedMs = storeLimits.queueRowMsMax + 500;
const drainPollMs = 500;
const batchMessages = 500;
const batchBytesMax = 4 * 1024 * 1024;
const delayMsMax = 400 * 24 * 3_600_000;

const moveFields = fieldsOf<MoveToLocalOptions>('moveToLocal', moveKinds);

/**
 * Begins the move of a queue, or continues one that was begun, and resolves when the stream is gone. Messages get new ids and
 * times of enqueue; those of a shard keep their order, and so do those of a group key. Throws `QUEUE_NOT_FOUND`,
 * `FEATURE_UNSUPPORTED` for topics and queues in memory, `QUEUE_EXISTS` for a local queue of this name, `QUEUE_NOT_DRAINED`, and the
 * errors of the servers and the local engine. After an error the stream is used as before, as with `moveToJetStream`; one that an
 * earlier attempt had stopped, which was killed, stays stopped.
 */
export async function moveToLocal(options: MoveToLocalOptions): Promise<void> {
  assertMoveOptions(options, moveFields);
  const link = await ServerLink.open(options);
  try {
    await new MoveToLocal(link, options).run();
  } finally {
    await link.close();
  }
}

class MoveToLocal {
  readonly #link: ServerLink;
  readonly #options: MoveToLocalOptions;
  readonly #catalog: QueueCatalog;
  readonly #local: LocalQueues;
  readonly #queue: string;

  constructor(link: ServerLink, options: MoveToLocalOptions) {
    this.#link = link;
    this.#options = options;
    this.#catalog = new QueueCatalog(link, {
      sync: 'interval',
      replicas: 1,
      ackWaitMs: storeLimits.ackWaitMsDefault,
    });
    this.#local = options.local;
    this.#queue = options.queue;
  }

  async run(): Promise<void> {
    const stream = await this.#catalog.find(this.#queue);
    if (stream === undefined) {
      // The stream is dropped last: if the local queue is there, a move that was killed then was complete.
      if ((await findLocal(this.#local, this.#queue)) === undefined)
        throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: this.#queue } });
      return this.#step('done');
    }
    const row = rowOfStream(stream);
    const exceptions = exceptionQueueName(row.name);
    const hasExceptions = row.attemptsMax !== null && (await this.#catalog.find(exceptions)) !== undefined;
    const names = hasExceptions ? [row.name, exceptions] : [row.name];
    const begun = leaveRecordOf(stream);
    if (begun?.phase !== 'switched') await this.#bringOver(row, names, begun);
    await this.#start(names);
    await this.#step('drop');
    for (const name of names.toReversed()) await this.#catalog.deleteStream(name);
    await this.#step('done');
  }

  async #bringOver(row: QueueRow, names: readonly string[], begun: LeaveRecord | undefined): Promise<void> {
    const spec = specOf(row);
    validateQueueSpec(spec);
    await assertWhole(this.#local);
    if (begun === undefined) await this.#assertFree(names);
    const undo = new Undo();
    await undo.run(() => this.#bring({ row, names, spec, begun }, undo), this.#options.signal);
  }

  /** A move that was begun by another process does not know how the stream was before: it stays stopped. */
  async #bring(
    {
      row,
      names,
      spec,
      begun,
    }: { row: QueueRow; names: readonly string[]; spec: QueueSpec; begun: LeaveRecord | undefined },
    undo: Undo,
  ): Promise<void> {
    await this.#step('stop');
    for (const name of names) {
      const { enqueueEnabled: enqueue, dequeueEnabled: dequeue } = await this.#catalog.info(name);
      undo.add(() => this.#catalog.setEnabled(name, true, { enqueue, dequeue }));
      await this.#catalog.setEnabled(name, false);
    }
    await this.#step('drain');
    await pause(stoppedMs);
    for (const name of names) await this.#drain(name);
    await this.#step('create');
    const stopped = { ...row, enqueueEnabled: false, dequeueEnabled: false };
    if (begun === undefined) undo.add(() => this.#catalog.rewrite(stopped, withLeaveRecord(null)));
    const attempt = begun?.attempt ?? nuid.next();
    await this.#catalog.rewrite(stopped, withLeaveRecord({ phase: 'copying', attempt }));
    if ((await findLocal(this.#local, row.name)) === undefined) {
      await this.#local.createQueue(spec);
      undo.add(() => this.#dropCopies(names));
    }
    for (const name of names) await this.#local.stopQueue(name, { enqueue: false, dequeue: true });
    await this.#step('copy');
    for (const name of names) await this.#copy(name, attempt);
    await this.#step('check');
    for (const name of names) await this.#check(name);
    await this.#step('switch');
    undo.clear();
    await this.#catalog.rewrite(stopped, withLeaveRecord({ phase: 'switched', attempt }));
  }

  async #step(step: MoveStep): Promise<void> {
    this.#options.signal?.throwIfAborted();
    await this.#options.onStep?.(step);
  }

  async #assertFree(names: readonly string[]): Promise<void> {
    for (const queue of names) {
      if ((await findLocal(this.#local, queue)) !== undefined)
        throw new QueueError('QUEUE_EXISTS', { details: { queue } });
    }
  }

  /**
   * Waits until no session holds a message. The servers count a message as held until it is delivered again, even if it was
   * returned or its holder is gone. Since the queue is stopped, a message that can be taken here is not held by anyone else.
   */
  async #drain(queue: string): Promise<void> {
    const target = await this.#catalog.consumer(queue, undefined);
    const puller = new MessagePuller(this.#link, target, { ackWaitMs: target.ackWaitMs, prefetch: 0 });
    const { signal = new AbortController().signal, drainMsMax = 600_000 } = this.#options;
    const until = performance.now() + drainMsMax;
    const free = new Set<number>();
    const taken: Awaited<ReturnType<MessagePuller['pull']>> = [];
    try {
      while (true) {
        signal.throwIfAborted();
        const { held, waiting } = await this.#catalog.consumerCounts(target);
        const others = held - free.size;
        if (others <= 0 && waiting === 0) return;
        if (performance.now() > until) throw notDrained(queue, Math.max(0, others));
        if (others > 0) taken.push(...(await puller.pull(Math.min(others, pullMax), 0, signal)));
        for (const { streamSequence } of taken) free.add(streamSequence);
        await pause(drainPollMs);
      }
    } finally {
      for (const { raw } of taken) raw.respond('-NAK');
    }
  }

  /** Messages of one shard go through one session, which keeps their order, and are cut into commits in the same way each time. */
  async #copy(queue: string, attempt: string): Promise<void> {
    const shards = new Map<string, ShardCopy>();
    try {
      for await (const entry of storedMessages(this.#link, queue)) {
        this.#options.signal?.throwIfAborted();
        const shard = entry.headers?.get('Nats-Schedule-Target') || entry.subject;
        let copy = shards.get(shard);
        if (copy === undefined) {
          copy = new ShardCopy(this.#local.openSession(), queue, `${attempt} ${queue}`);
          shards.set(shard, copy);
        }
        await copy.add(entry);
      }
      for (const copy of shards.values()) await copy.flush();
    } finally {
      for (const copy of shards.values()) await copy.close();
    }
  }

  /** The local queue may have more: it accepts messages from its creation on. */
  async #check(queue: string): Promise<void> {
    await assertWhole(this.#local);
    const here = new Map<string, number>();
    for await (const message of browseAll(this.#local, queue, this.#options.signal)) {
      const digest = digestOf(message);
      here.set(digest, (here.get(digest) ?? 0) + 1);
    }
    const missing: string[] = [];
    for await (const { stored } of storedMessages(this.#link, queue)) {
      const digest = digestOf(stored);
      const left = here.get(digest) ?? 0;
      if (left === 0) missing.push(stored.id);
      here.set(digest, left - 1);
    }
    if (missing.length === 0) return;
    throw new QueueError('STORAGE_FAILED', {
      message: `${missing.length} messages of ${queue} are not in the local queue; the stream is whole`,
      details: { queue, missing: missing.slice(0, 10) },
    });
  }

  /** The local queue accepts messages from its creation on: one that has others than the stream is kept. */
  async #dropCopies(names: readonly string[]): Promise<void> {
    for (const queue of names) {
      if ((await findLocal(this.#local, queue)) === undefined) continue;
      const copied = new Set<string>();
      for await (const { stored } of storedMessages(this.#link, queue)) copied.add(digestOf(stored));
      for await (const message of browseAll(this.#local, queue, undefined)) {
        if (copied.has(digestOf(message))) continue;
        throw new QueueError('QUEUE_EXISTS', {
          message: `The local queue ${queue} has messages that the stream does not have, and was not dropped`,
          details: { queue },
        });
      }
    }
    const [first] = names;
    if ((await findLocal(this.#local, first!)) !== undefined)
      await this.#local.dropQueue(first!, { withExceptions: true });
  }

  async #start(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#local.startQueue(name);
  }
}

const pullMax = 1_000;

/** The copy of one shard of one queue. */
class ShardCopy {
  readonly #session: Session;
  readonly #queue: string;
  readonly #mark: string;
  #batch: NewMessage[] = [];
  #bytes = 0;
  #key = '';

  constructor(session: Session, queue: string, mark: string) {
    this.#session = session;
    this.#queue = queue;
    this.#mark = mark;
  }

  async add({ sequence, headers, stored }: StoredEntry): Promise<void> {
    const due = dueAtMs(headers);
    if (due !== undefined || headers?.has('Nats-Scheduler')) return this.#addScheduled(stored, due);
    const isFull =
      this.#batch.length === batchMessages || this.#bytes + stored.payload.length > batchBytesMax;
    if (isFull) await this.flush();
    if (this.#batch.length === 0) this.#key = `${this.#mark} ${sequence}`;
    this.#batch.push(messageOf(stored));
    this.#bytes += stored.payload.length;
  }

  async flush(): Promise<void> {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#bytes = 0;
    await this.#commit(batch, this.#key);
  }

  /**
   * The remaining delay shrinks with each attempt, so a key that is known with another content also means that the message is
   * copied.
   */
  async #addScheduled(stored: StoredMessage, due: number | undefined): Promise<void> {
    const delayMs = due === undefined ? 0 : Math.min(Math.max(0, due - Date.now()), delayMsMax);
    const id = createHash('sha256').update(stored.id).digest('hex');
    try {
      await this.#commit([{ ...messageOf(stored), ...(delayMs > 0 && { delayMs }) }], `${this.#mark} ${id}`);
    } catch (error) {
      if (!(error instanceof QueueError && error.code === 'IDEMPOTENCY_KEY_REUSED')) throw error;
      await this.#session.rollback();
    }
  }

  async #commit(batch: readonly NewMessage[], idempotencyKey: string): Promise<void> {
    for (const message of batch) this.#session.enqueue(this.#queue, message);
    await this.#session.commit({ idempotencyKey });
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

function messageOf({ payload, correlationId, groupKey, properties }: StoredMessage): NewMessage {
  return {
    payload,
    ...(correlationId !== undefined && { correlationId }),
    ...(groupKey !== undefined && { groupKey }),
    ...(properties !== undefined && { properties }),
  };
}

/** Digest of the fields of a message that a move keeps. */
function digestOf({
  payload,
  correlationId,
  groupKey,
  properties = {},
}: StoredMessage | BrowsedMessage): string {
  const sorted = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const fields = JSON.stringify([correlationId ?? null, groupKey ?? null, sorted]);
  return createHash('sha256').update(fields).update(payload).digest('base64');
}

/** Throws `FEATURE_UNSUPPORTED`. */
function specOf(row: QueueRow): QueueSpec {
  const { name, type, shards, durability, attemptsMax, attemptsCounted, retryDelayMs } = row;
  if (type === 'topic')
    throw unsupported('topics', 'A topic cannot be moved: its subscribers are at different places');
  if (durability === 'memory') {
    throw unsupported(
      'idempotencyKeys',
      'A queue in memory cannot be moved: a copy that was killed could not be repeated without doubling messages',
    );
  }
  return { name, shards, durability, retryDelayMs, attemptsMax, attemptsCounted };
}
