/**
 * Moves a queue of the local engine to JetStream, with its messages and its exception queue, in steps that can be killed at any
 * point and repeated.
 *
 * The stream itself records the progress of the move. It is created stopped, with the record of the move; messages keep their
 * ids, so what is copied is what the stream has. Only when both have the same messages is the stream started, in the same write
 * that records it, and only then is the local queue dropped. Until then only the move uses the stream; from then on nothing is
 * copied.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type BrowsedMessage, QueueError, type QueueInfo } from '@shardlab/engine';
import { exceptionQueueName, fieldsOf, hashGroupKey } from '@shardlab/engine/store-rules';
import { unsupported } from '../capabilities.ts';
import { encodeHeaders } from '../message-coding.ts';
import { type OutgoingMessage, publishMessages } from '../publish-messages.ts';
import { QueueCatalog } from '../queue-catalog.ts';
import { type JetStreamQueueSpec, type QueueRow, rowOfSpec, rowOfStream } from '../queue-config.ts';
import { type LinkOptions, ServerLink } from '../server-link.ts';
import { storeLimits } from '../store-limits.ts';
import { delayedSubject, shardSubject, streamOf } from '../stream-names.ts';
import { assertWhole, browseAll, findLocal, type LocalQueues, notDrained } from './local-queues.ts';
import { assertMoveOptions, moveKinds } from './move-options.ts';
import { type MoveRecord, moveRecordOf, withMoveRecord } from './move-record.ts';
import type { MoveStep } from './move-steps.ts';
import { storedMessages } from './stored-messages.ts';
import { Undo } from './undo.ts';

export interface MoveOptions extends LinkOptions {
  local: LocalQueues;
  queue: string;
  replicas?: 1 | 3 | 5;
  sync?: 'always' | 'interval';
  /** How long holders of messages may take to finish, ms; default 600,000. */
  drainMsMax?: number;
  signal?: AbortSignal;
  /** Called before each step. A test kills the process here. */
  onStep?: (step: MoveStep) => void | Promise<void>;
}

/** Time in which all instances of a cluster have noticed that a queue is stopped: they look every 100 ms. */
const stoppedMs = 1_000;
const drainPollMs = 100;
const pageMessages = 500;
const batchBytesMax = 4 * 1024 * 1024;

const moveFields = fieldsOf<MoveOptions>('moveToJetStream', {
  ...moveKinds,
  replicas: 'number',
  sync: 'string',
});

/**
 * Begins the move of a queue, or continues one that was begun, and resolves when the local queue is gone. Throws
 * `QUEUE_NOT_FOUND`, `FEATURE_UNSUPPORTED` for what JetStream cannot keep, `QUEUE_EXISTS` for a queue of this name on the servers
 * that is not of this move, `QUEUE_NOT_DRAINED`, and what the servers refuse. After an error the local queue is used as before,
 * unless the move was at its last steps, `switch` and `drop`, or `signal` has ended it: such a move can be repeated to continue.
 */
export async function moveToJetStream(options: MoveOptions): Promise<void> {
  assertMoveOptions(options, moveFields);
  const link = await ServerLink.open(options);
  try {
    await new Move(link, options).run();
  } finally {
    await link.close();
  }
}

class Move {
  readonly #link: ServerLink;
  readonly #options: MoveOptions;
  readonly #catalog: QueueCatalog;
  readonly #local: LocalQueues;
  readonly #queue: string;

  constructor(link: ServerLink, options: MoveOptions) {
    const { replicas = 1, sync = 'interval' } = options;
    this.#link = link;
    this.#options = options;
    this.#catalog = new QueueCatalog(link, { sync, replicas, ackWaitMs: storeLimits.ackWaitMsDefault });
    this.#local = options.local;
    this.#queue = options.queue;
  }

  async run(): Promise<void> {
    const begun = await this.#recordOf(this.#queue);
    const found = await findLocal(this.#local, this.#queue);
    if (found === undefined) {
      if (begun?.phase !== 'switched')
        throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: this.#queue } });
      await this.#drop();
      return this.#step('done');
    }
    if (begun?.phase !== 'switched') await this.#bringOver(found, begun);
    else if (begun.enqueued !== found.enqueued || begun.consumed !== found.consumed) {
      // The one that was moved is gone, and another was created since.
      throw queueExists(this.#queue);
    }
    await this.#step('drop');
    await this.#drop();
    await this.#step('done');
  }

  /** The exception queue goes with its queue; alone it is left of a move by an earlier version that was cut off. */
  async #drop(): Promise<void> {
    for (const name of [this.#queue, exceptionQueueName(this.#queue)]) {
      if ((await findLocal(this.#local, name)) !== undefined)
        await this.#local.dropQueue(name, { withExceptions: true });
    }
  }

  async #bringOver(found: QueueInfo, begun: MoveRecord | undefined): Promise<void> {
    const row = this.#targetOf(found);
    const names = found.exceptionQueue === null ? [this.#queue] : [this.#queue, found.exceptionQueue];
    await this.#assertFree(names);
    if (begun === undefined) await this.#assertMovable(names, row);
    const undo = new Undo();
    await undo.run(() => this.#bring(row, names, begun?.enabled ?? {}, undo), this.#options.signal);
  }

  /** Nothing is stopped yet. Throws `QUEUE_EXISTS`, `STREAM_FOREIGN`, `QUEUE_IN_USE`. */
  async #assertFree(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const stream = await this.#catalog.find(name);
      if (stream === undefined || moveRecordOf(stream)?.phase === 'copying') continue;
      rowOfStream(stream);
      throw queueExists(name);
    }
    const suffix = exceptionQueueName('');
    if (!this.#queue.endsWith(suffix)) return;
    const user = this.#queue.slice(0, -suffix.length);
    if ((await findLocal(this.#local, user))?.exceptionQueue !== this.#queue) return;
    throw new QueueError('QUEUE_IN_USE', {
      message: `${this.#queue} is the exception queue of ${user}, and is moved with it`,
      details: { queue: this.#queue, user },
    });
  }

  /** Reads all messages once more than the copy does. Throws `FEATURE_UNSUPPORTED`, `PAYLOAD_TOO_LARGE`. */
  async #assertMovable(names: readonly string[], row: QueueRow): Promise<void> {
    await assertWhole(this.#local);
    const bytesMax = this.#link.messageBytesMax;
    for (const name of names) {
      for await (const message of browseAll(this.#local, name, this.#options.signal)) {
        const { payload } = this.#encode(rowFor(row, name), message);
        if (payload.length <= bytesMax) continue;
        throw new QueueError('PAYLOAD_TOO_LARGE', {
          message: `Message ${message.id} of ${name} has ${payload.length} bytes; the servers take ${bytesMax} (max_payload)`,
          details: { queue: name, id: message.id, bytes: payload.length, bytesMax },
        });
      }
    }
  }

  async #bring(
    row: QueueRow,
    names: readonly string[],
    before: MoveRecord['enabled'],
    undo: Undo,
  ): Promise<void> {
    const enabled: MoveRecord['enabled'] = {};
    await this.#step('stop');
    for (const name of names) {
      const { enqueueEnabled, dequeueEnabled } = await this.#local.queue(name);
      const halves = before[name] ?? { enqueue: enqueueEnabled, dequeue: dequeueEnabled };
      enabled[name] = halves;
      undo.add(() => this.#local.startQueue(name, halves));
      await this.#local.stopQueue(name);
    }
    await this.#step('drain');
    for (const name of names) await this.#drain(name);
    await assertWhole(this.#local);
    const counts = new Map<string, number>();
    for (const name of names) {
      const { ready, delayed } = await this.#local.queue(name);
      counts.set(name, ready + delayed);
    }
    const { enqueued, consumed } = await this.#local.queue(this.#queue);
    const record: MoveRecord = { phase: 'copying', enqueued, consumed, enabled };
    await this.#step('create');
    for (const name of names) {
      undo.add(() => this.#deleteCopies(name));
      await this.#create(rowFor(row, name), record);
    }
    await this.#step('copy');
    for (const name of names) await this.#copy(rowFor(row, name));
    await this.#step('check');
    for (const name of names) await this.#check(name, counts.get(name)!);
    await this.#step('switch');
    undo.clear();
    // The queue itself last: its record decides.
    for (const name of names.toReversed()) {
      const started = { ...rowFor(row, name), enqueueEnabled: true, dequeueEnabled: true };
      await this.#catalog.rewrite(started, withMoveRecord({ ...record, phase: 'switched' }));
    }
  }

  async #step(step: MoveStep): Promise<void> {
    this.#options.signal?.throwIfAborted();
    await this.#options.onStep?.(step);
  }

  async #recordOf(name: string): Promise<MoveRecord | undefined> {
    const stream = await this.#catalog.find(name);
    return stream === undefined ? undefined : moveRecordOf(stream);
  }

  /** Throws `FEATURE_UNSUPPORTED`. */
  #targetOf({
    name,
    type,
    shards,
    durability,
    visibility,
    priorities,
    attemptsMax,
    attemptsCounted,
    retryDelayMs,
    retentionMs,
  }: QueueInfo): QueueRow {
    if (type === 'topic')
      throw unsupported('topics', 'A topic cannot be moved: its subscribers are at different places');
    const spec: JetStreamQueueSpec = {
      name,
      shards: Math.max(1, shards),
      visibility,
      priorities,
      durability,
      retryDelayMs,
      retentionMs,
      attemptsMax,
      attemptsCounted,
    };
    const { sync = 'interval', replicas = 1 } = this.#options;
    return { ...rowOfSpec(spec, { sync, replicas }), enqueueEnabled: false, dequeueEnabled: false };
  }

  async #drain(name: string): Promise<void> {
    await pause(stoppedMs);
    const until = performance.now() + (this.#options.drainMsMax ?? 600_000);
    while (true) {
      this.#options.signal?.throwIfAborted();
      const { held } = await this.#local.queue(name);
      if (held === 0) return;
      if (performance.now() > until) throw notDrained(name, held);
      await pause(drainPollMs);
    }
  }

  async #create(row: QueueRow, record: MoveRecord): Promise<void> {
    const begun = await this.#catalog.find(row.name);
    const earlier = begun && moveRecordOf(begun);
    if (begun !== undefined && earlier?.phase !== 'copying') throw queueExists(row.name);
    const isOutdated = earlier?.enqueued !== record.enqueued || earlier.consumed !== record.consumed;
    if (begun !== undefined && !isOutdated) return;
    // The local queue was used again since then, so that the copies may have been consumed here.
    if (begun !== undefined) await this.#catalog.deleteStream(row.name);
    await this.#catalog.createStream(row, withMoveRecord(record));
  }

  /** Not a stream that another has created in between. */
  async #deleteCopies(name: string): Promise<void> {
    if ((await this.#recordOf(name))?.phase === 'copying') await this.#catalog.deleteStream(name);
  }

  async #copy(row: QueueRow): Promise<void> {
    const present = await this.#idsOnServers(row.name);
    let batch: OutgoingMessage[] = [];
    let bytes = 0;
    const flush = async () => {
      if (batch.length === 0) return;
      await publishMessages(this.#link, streamOf(row.name), batch, storeLimits.outcomeMsMax);
      batch = [];
      bytes = 0;
    };
    for await (const message of browseAll(this.#local, row.name, this.#options.signal)) {
      if (present.has(message.id)) continue;
      if (bytes + message.payloadBytes > batchBytesMax || batch.length === pageMessages) await flush();
      batch.push(this.#encode(row, message));
      bytes += message.payloadBytes;
    }
    await flush();
  }

  /** A log of the local queue goes to one shard as a whole, a group key to the shard that its next messages go to. */
  #encode(row: QueueRow, message: BrowsedMessage): OutgoingMessage {
    if (message.streamed)
      throw unsupported('streamedPayloads', `Message ${message.id} has a streamed payload`);
    const { id, payload, groupKey, untilMs, enqueuedAtMs } = message;
    const subject = shardSubject(row.name, hashGroupKey(groupKey ?? id.split('.')[0]!) % row.shards);
    if (message.state === 'ready')
      return { subject, payload, headers: encodeHeaders(id, message, { enqueuedAtMs }) };
    const due = { dueAtMs: untilMs ?? Date.now(), target: subject };
    return {
      subject: delayedSubject(row.name, id.replaceAll(/[^\w-]/g, '_')),
      payload,
      headers: encodeHeaders(id, message, { enqueuedAtMs, due }),
    };
  }

  async #idsOnServers(name: string): Promise<Set<string>> {
    const ids = new Set<string>();
    for await (const { stored } of storedMessages(this.#link, name)) ids.add(stored.id);
    return ids;
  }

  async #check(name: string, expected: number): Promise<void> {
    const copied = await this.#idsOnServers(name);
    const missing: string[] = [];
    let count = 0;
    for await (const { id } of browseAll(this.#local, name, this.#options.signal)) {
      count += 1;
      if (!copied.has(id)) missing.push(id);
    }
    if (missing.length === 0 && copied.size === count && count === expected) return;
    throw new QueueError('STORAGE_FAILED', {
      message: `${name} has ${count} messages here and ${copied.size} on the servers; the local queue is whole and used as before`,
      details: { queue: name, expected, local: count, copied: copied.size, missing: missing.slice(0, 10) },
    });
  }
}

function queueExists(queue: string): QueueError {
  return new QueueError('QUEUE_EXISTS', {
    message: `The servers have a queue named ${queue} already, which is not of this move`,
    details: { queue },
  });
}

/** The row of the queue, or that of its exception queue, which has no attempts of its own. */
function rowFor(row: QueueRow, name: string): QueueRow {
  if (name === row.name) return row;
  return { ...row, name, attemptsMax: null, attemptsCounted: 'on-return', retryDelayMs: 0 };
}
