/**
 * Payloads that lie in chunks: written ahead of the message that has them, kept as long as a message has them, and deleted
 * in small steps after that.
 *
 * A chunk is written by an invisible transaction of its own, in a group with whatever commits at that moment; only so many
 * are on their way at a time, and whoever brings more waits. The message's commit writes the row that says whose the
 * chunks are. Whatever has no such row is deleted: at once when an upload is given up or a message is finished, and, since
 * a crash may come first, after every opening too.
 */
import type { SeqRange } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { type PayloadUse, PayloadUses } from '../core/payload-uses.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { ChunkPlace, RecoveredPayloads } from '../storage/payload-table.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Shard } from './shard.ts';

/** Before a deletion that failed is tried again: on a full disk, say. */
const retryMs = 1_000;

export interface PayloadStoreOptions {
  group: GroupCommit;
  waits: WaitRecorder;
  recovered: RecoveredPayloads;
  /** Payloads of this instance are numbered from here on, so that no number comes twice. */
  firstPayload: number;
  readChunk(place: ChunkPlace): Promise<Uint8Array | undefined>;
}

/** Chunks to be deleted, and the row of the message that had them. */
interface Deletion {
  payload: number;
  chunks: number;
  changes: SideChange[];
}

export class PayloadStore {
  readonly #options: PayloadStoreOptions;
  readonly #uses = new PayloadUses();
  #nextPayload: number;
  #uploads = 0;
  #writing = 0;
  readonly #waitingToWrite: (() => void)[] = [];
  readonly #deletions: Deletion[] = [];
  #deleting = false;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PayloadStoreOptions) {
    this.#options = options;
    this.#nextPayload = options.firstPayload;
    for (const use of options.recovered.uses) this.#uses.add(use);
  }

  get uses(): PayloadUses {
    return this.#uses;
  }

  /** The number of a new payload. Throws `UPLOADS_FULL`, `BACKLOG_FULL`. `endUpload` ends it. */
  beginUpload(): number {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
    if (this.#uploads >= limits.uploadsMax)
      throw new QueueError('UPLOADS_FULL', { details: { uploadsMax: limits.uploadsMax } });
    if (this.#uses.size + this.#uploads >= limits.streamedPayloadsMax) {
      const { streamedPayloadsMax } = limits;
      throw new QueueError('BACKLOG_FULL', { details: { streamedPayloadsMax } });
    }
    this.#uploads += 1;
    this.#nextPayload += 1;
    return this.#nextPayload;
  }

  endUpload(): void {
    this.#uploads -= 1;
  }

  /** Resolves when the chunk is written, after those before it; `body` must lie in shared memory, and stay as it is until then. */
  async write(place: ChunkPlace, body: Uint8Array): Promise<void> {
    const startedAt = performance.now();
    if (this.#writing >= limits.chunksInFlightMax) {
      await new Promise<void>((resolve) => this.#waitingToWrite.push(resolve));
    } else this.#writing += 1;
    try {
      await this.#options.group.submit({
        ...nothing,
        bytes: body.byteLength,
        side: () => [{ kind: 'chunk', place, body }],
      });
      this.#options.waits.record('payload write', performance.now() - startedAt);
    } finally {
      const next = this.#waitingToWrite.shift();
      if (next === undefined) this.#writing -= 1;
      else next(); // it takes this one's turn
    }
  }

  /** No message will have it: deletes what was written of it. */
  discard(payload: number, chunks: number): void {
    if (chunks > 0) this.#delete({ payload, chunks, changes: [] });
  }

  /** A commit is durable with which payloads went from messages to others, or to their first ones. */
  moved(from: readonly PayloadUse[], to: readonly PayloadUse[]): void {
    for (const use of to) this.#uses.add(use);
    for (const use of from) this.#uses.remove(use);
  }

  /** Numbers are terminal for one reader of the shard. */
  consumed(shard: Shard, ranges: readonly SeqRange[]): void {
    if (this.#uses.size === 0) return;
    for (const range of ranges) {
      for (const use of this.#uses.between(shard.queueId, shard.no, range)) {
        if (!shard.isLive(use.seq)) this.#release(use);
      }
    }
  }

  /** Of any message of the shard it may be news that nobody waits for it any more. */
  lookOver(shard: Shard): void {
    this.consumed(shard, [[0, shard.nextSeq]]);
  }

  /** The queue was dropped, and the rows of its messages with it. */
  forgetQueue(queueId: number): void {
    for (const use of [...this.#uses.all()]) {
      if (use.queueId === queueId && !this.#uses.remove(use)) this.discard(use.payload, chunksOf(use.bytes));
    }
  }

  /** After recovery: deletes what no message waits for any more. */
  settle(isLive: (use: PayloadUse) => boolean): void {
    for (const use of [...this.#uses.all()]) if (!isLive(use)) this.#release(use);
    for (const { payload, chunks } of this.#options.recovered.orphans) this.discard(payload, chunks);
  }

  #release(use: PayloadUse): void {
    const others = this.#uses.remove(use);
    const chunks = others ? 0 : chunksOf(use.bytes);
    this.#delete({ payload: use.payload, chunks, changes: [{ kind: 'payload released', use }] });
  }

  #delete(deletion: Deletion): void {
    this.#deletions.push(deletion);
    if (!this.#deleting) void this.#deleteAll();
  }

  /** One step after the other, each in a group of its own among those of others. */
  async #deleteAll(): Promise<void> {
    this.#deleting = true;
    for (let next = this.#deletions[0]; next !== undefined && !this.#closed; next = this.#deletions[0]) {
      const to = next.chunks;
      const from = Math.max(0, to - limits.chunksDeletedMax);
      const { payload, changes } = next;
      const side = (): SideChange[] => [...changes, { kind: 'delete chunks', payload, from, to }];
      try {
        await this.#options.group.submit({ ...nothing, side });
      } catch {
        // If it is for good, the next opening finds them.
        this.#retry = setTimeout(() => void this.#deleteAll(), retryMs).unref();
        return;
      }
      next.changes = [];
      next.chunks = from;
      if (from === 0) this.#deletions.shift();
    }
    this.#deleting = false;
  }

  /** A chunk of a payload. Throws `PAYLOAD_GONE`, `STORAGE_CORRUPT`, `INSTANCE_CLOSED`. */
  async read(place: ChunkPlace): Promise<Uint8Array> {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
    const startedAt = performance.now();
    const body = await this.#options.readChunk(place);
    this.#options.waits.record('payload read', performance.now() - startedAt);
    if (body !== undefined) return body;
    if (!this.#uses.isUsed(place.payload)) throw new QueueError('PAYLOAD_GONE');
    throw new QueueError('STORAGE_CORRUPT', {
      sentence: `Chunk ${place.no} of payload ${place.payload} is missing`,
      details: { ...place },
    });
  }

  /** Deletions that are left are made after the next opening. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }
}

export function chunksOf(bytes: number): number {
  return Math.ceil(bytes / limits.chunkBytes);
}

/** Neither may be lost with what others commit: a chunk is synced with the commit of its message, a deletion never. */
const nothing = { runs: [], deliveries: [], bytes: 0, sync: 'NORMAL' as const, background: true as const };
