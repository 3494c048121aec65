/**
 * Payloads in chunks: written ahead of the message that refers to them, kept as long as a message does, and deleted in
 * small steps after that.
 *
 * A chunk is a system write, in a group with whatever commits at that moment; a bounded number is in flight, and further
 * ones wait. The message's commit writes the row that refers to the payload. Chunks without such a row are deleted: at
 * once when an upload is abandoned or a message is consumed, and after every opening, since a crash can come first.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { registerWaitEvent } from '../../api/waits.ts';
import type { GroupCommit } from '../../commit/group-commit.ts';
import type { MessageLog } from '../../log/message-log.ts';
import type { SubscriberCursor } from '../../log/subscriber-cursor.ts';
import type { SeqRange } from '../../model/consumption.ts';
import type { PayloadId, QueueId } from '../../model/ids.ts';
import type { ChunkedPayload } from '../../model/message-record.ts';
import type { ChunkKey, RecoveredPayloads } from '../../model/payload-chunk.ts';
import { type PayloadReference, PayloadReferences } from '../../model/payload-references.ts';
import type { Ports, Timer } from '../../model/ports.ts';
import type { TableWrite } from '../../model/table-write.ts';
import type { WaitRecorder } from '../../model/wait-recorder.ts';

export const payloadWrite = registerWaitEvent({
  name: 'payload write',
  class: 'configuration',
  standsFor: 'direct path write',
  about: 'an upload waits until a chunk is written',
});
/** Only the program knows when it waits for the next chunk: the one after it is read ahead. */
export const payloadRead = registerWaitEvent({
  name: 'payload read',
  class: 'configuration',
  standsFor: 'direct path read',
  about: 'a program waits for a chunk of a streamed payload',
});

/** Pause before a deletion that failed, on a full disk for example, is tried again. */
const retryMs = 1_000;

export interface PayloadStoreOptions {
  groupCommit: GroupCommit;
  waits: WaitRecorder;
  ports: Pick<Ports, 'clock' | 'timers'>;
  recovered: RecoveredPayloads;
  /** Ids of new payloads count from here, so that none repeats one of an earlier opening. */
  firstPayloadId: PayloadId;
  readChunk(place: ChunkKey): Promise<Uint8Array | undefined>;
}

/** Chunks to be deleted, and the row that referred to them. */
interface Deletion {
  payloadId: PayloadId;
  chunks: number;
  writes: TableWrite[];
}

export class PayloadStore {
  readonly #options: PayloadStoreOptions;
  readonly #references = new PayloadReferences();
  #lastPayloadId: PayloadId;
  #uploadCount = 0;
  #writingCount = 0;
  readonly #waitingToWrite: (() => void)[] = [];
  readonly #deletions: Deletion[] = [];
  #deleting = false;
  #retry: Timer | undefined;
  #closed = false;

  constructor(options: PayloadStoreOptions) {
    this.#options = options;
    this.#lastPayloadId = options.firstPayloadId;
    for (const reference of options.recovered.references) this.#references.add(reference);
    this.#observeConsumption();
  }

  get references(): PayloadReferences {
    return this.#references;
  }

  /** Returns the id of a new payload; to be followed by `endUpload`. Throws `UPLOADS_FULL`, `BACKLOG_FULL`. */
  beginUpload(): PayloadId {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
    if (this.#uploadCount >= limits.uploadsMax)
      throw new QueueError('UPLOADS_FULL', { details: { uploadsMax: limits.uploadsMax } });
    if (this.#references.size + this.#uploadCount >= limits.streamedPayloadsMax) {
      const { streamedPayloadsMax } = limits;
      throw new QueueError('BACKLOG_FULL', { details: { streamedPayloadsMax } });
    }
    this.#uploadCount += 1;
    this.#lastPayloadId += 1;
    return this.#lastPayloadId;
  }

  endUpload(): void {
    this.#uploadCount -= 1;
  }

  /** Resolves when the chunk is written. Until then `body` must not change. */
  async writeChunk(place: ChunkKey, body: Uint8Array): Promise<void> {
    const { groupCommit, waits, ports } = this.#options;
    const startedAtMs = ports.clock.monotonicMs();
    if (this.#writingCount >= limits.chunksInFlightMax) {
      await new Promise<void>((resolve) => this.#waitingToWrite.push(resolve));
    } else this.#writingCount += 1;
    try {
      await groupCommit.write({
        ...backgroundWrite,
        bytes: body.byteLength,
        onClose: () => [{ kind: 'chunk', key: place, body }],
      });
      waits.recordUnlessMarked(payloadWrite, ports.clock.monotonicMs() - startedAtMs);
    } finally {
      const next = this.#waitingToWrite.shift();
      if (next === undefined) this.#writingCount -= 1;
      else next(); // the next chunk that waits is in flight instead of this one
    }
  }

  /** The payload gets no message: deletes its chunks. */
  discardPayload({ payloadId, bytes }: Pick<ChunkedPayload, 'payloadId' | 'bytes'>): void {
    this.discard(payloadId, chunkCount(bytes));
  }

  /** The same for a payload of which `chunks` chunks were written. */
  discard(payloadId: PayloadId, chunks: number): void {
    if (chunks > 0) this.#scheduleDeletion({ payloadId, chunks, writes: [] });
  }

  /** A durable commit has moved payloads from the messages in `from` to those in `to`, which may be new. */
  onMoved(from: readonly PayloadReference[], to: readonly PayloadReference[]): void {
    for (const reference of to) this.#references.add(reference);
    for (const reference of from) this.#references.remove(reference);
    this.#observeConsumption();
  }

  /** While no message has a payload in chunks, commits are not slowed down by this store. */
  #observeConsumption(): void {
    const isNeeded = this.#references.size > 0;
    this.#options.groupCommit.onConsumed = isNeeded ? this.#onCursorConsumed : undefined;
  }

  readonly #onCursorConsumed = ({ log }: SubscriberCursor, ranges: readonly SeqRange[]): void =>
    this.onConsumed(log, ranges);

  /** The sequence numbers are terminal for one cursor of the log; other cursors may still need the messages. */
  onConsumed(log: MessageLog, ranges: readonly SeqRange[]): void {
    if (this.#references.size === 0) return;
    for (const range of ranges) {
      for (const reference of this.#references.between(log.queueId, log.id, range)) {
        if (!log.isLive(reference.seq)) this.#releaseReference(reference);
      }
    }
  }

  /** Any message of the log may have become terminal for its last cursor. */
  scanLog(log: MessageLog): void {
    this.onConsumed(log, [[0, log.nextSeq]]);
  }

  /** The queue was dropped, and its rows with it. */
  removeQueue(queueId: QueueId): void {
    for (const reference of [...this.#references.all()]) {
      if (reference.queueId === queueId && !this.#references.remove(reference))
        this.discardPayload(reference);
    }
    this.#observeConsumption();
  }

  /** After recovery: deletes payloads that no live message refers to. */
  releaseNotLive(isLive: (reference: PayloadReference) => boolean): void {
    for (const reference of [...this.#references.all()])
      if (!isLive(reference)) this.#releaseReference(reference);
    for (const { payloadId, chunkCount: chunks } of this.#options.recovered.orphans)
      this.discard(payloadId, chunks);
  }

  #releaseReference(reference: PayloadReference): void {
    const { payloadId, bytes } = reference;
    const isStillReferenced = this.#references.remove(reference);
    this.#observeConsumption();
    this.#scheduleDeletion({
      payloadId,
      chunks: isStillReferenced ? 0 : chunkCount(bytes),
      writes: [{ kind: 'payload released', reference }],
    });
  }

  #scheduleDeletion(deletion: Deletion): void {
    this.#deletions.push(deletion);
    if (!this.#deleting) void this.#runDeletions();
  }

  /** Deletes chunks from the last one on, a bounded number in each group. */
  async #runDeletions(): Promise<void> {
    this.#deleting = true;
    for (let next = this.#deletions[0]; next !== undefined && !this.#closed; next = this.#deletions[0]) {
      const to = next.chunks;
      const from = Math.max(0, to - limits.chunksDeletedPerStepMax);
      const { payloadId, writes } = next;
      const onClose = (): TableWrite[] => [
        ...writes,
        { kind: 'delete chunks', payload: payloadId, from, to },
      ];
      try {
        await this.#options.groupCommit.write({ ...backgroundWrite, onClose });
      } catch {
        // If it keeps failing, the next opening of the instance finds the chunks.
        this.#retry = this.#options.ports.timers.after(retryMs, () => void this.#runDeletions());
        return;
      }
      next.writes = [];
      next.chunks = from;
      if (from === 0) this.#deletions.shift();
    }
    this.#deleting = false;
  }

  /** Reads a chunk of a payload. Throws `PAYLOAD_GONE`, `STORAGE_CORRUPT`, `INSTANCE_CLOSED`. */
  async readChunk(place: ChunkKey): Promise<Uint8Array> {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED');
    const { readChunk, waits, ports } = this.#options;
    const startedAtMs = ports.clock.monotonicMs();
    const body = await readChunk(place);
    waits.recordUnlessMarked(payloadRead, ports.clock.monotonicMs() - startedAtMs);
    if (body !== undefined) return body;
    if (!this.#references.isReferenced(place.payloadId)) throw new QueueError('PAYLOAD_GONE');
    throw new QueueError('STORAGE_CORRUPT', {
      message: `Chunk ${place.chunkIndex} of payload ${place.payloadId} is missing`,
      details: { ...place },
    });
  }

  /** Deletions that are left are made when the instance is opened again. */
  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
  }
}

export function chunkCount(bytes: number): number {
  return Math.ceil(bytes / limits.chunkBytes);
}

/** Neither needs a sync of its own: a chunk is synced with the commit of its message, and a lost deletion is repeated. */
const backgroundWrite = { sync: 'NORMAL', background: true } as const;
