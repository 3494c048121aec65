import type { SeqRange } from './consumption.ts';
import type { LogId, PayloadId, QueueId, Seq } from './ids.ts';

/**
 * Which messages have their payload in chunks. A payload is written once and can belong to several messages: a message
 * that was delivered too often moves to its exception queue while other subscribers still need the original. The payload
 * is kept as long as any of them. The caller reports consumed messages and deletes payloads without a reference.
 */
export interface PayloadReference {
  queueId: QueueId;
  /** Id of the message's log; a delayed message's is that of the delayed messages. `seq` counts within it. */
  shard: LogId;
  seq: Seq;
  payloadId: PayloadId;
  /** Size of the payload. */
  bytes: number;
}

/** The messages of one log. */
interface LogReferences {
  bySeq: Map<Seq, PayloadReference>;
  /** The same, in order. */
  seqs: Seq[];
}

export class PayloadReferences {
  readonly #logs = new Map<string, LogReferences>();
  /** Number of messages that refer to each payload. */
  readonly #referenceCounts = new Map<PayloadId, number>();
  #size = 0;

  /** Messages with a payload in chunks. */
  get size(): number {
    return this.#size;
  }

  isReferenced(payload: PayloadId): boolean {
    return this.#referenceCounts.has(payload);
  }

  add(reference: PayloadReference): void {
    const { shard, seq, payloadId } = reference;
    const log = this.#logFor(reference);
    if (log.bySeq.has(seq)) throw new RangeError(`message ${shard}.${seq} has a payload already`);
    log.bySeq.set(seq, reference);
    log.seqs.splice(lowerBound(log.seqs, seq), 0, seq);
    this.#referenceCounts.set(payloadId, (this.#referenceCounts.get(payloadId) ?? 0) + 1);
    this.#size += 1;
  }

  /** Returns whether another message still has the payload. */
  remove({ queueId, shard, seq }: Pick<PayloadReference, 'queueId' | 'shard' | 'seq'>): boolean {
    const log = this.#logs.get(logKey(queueId, shard));
    const reference = log?.bySeq.get(seq);
    if (log === undefined || reference === undefined)
      throw new RangeError(`message ${shard}.${seq} has no payload`);
    log.bySeq.delete(seq);
    log.seqs.splice(lowerBound(log.seqs, seq), 1);
    if (log.seqs.length === 0) this.#logs.delete(logKey(queueId, shard));
    this.#size -= 1;
    const left = this.#referenceCounts.get(reference.payloadId)! - 1;
    if (left > 0) {
      this.#referenceCounts.set(reference.payloadId, left);
      return true;
    }
    this.#referenceCounts.delete(reference.payloadId);
    return false;
  }

  find(queueId: QueueId, logId: LogId, seq: Seq): PayloadReference | undefined {
    return this.#logs.get(logKey(queueId, logId))?.bySeq.get(seq);
  }

  /** References of one log from `start` up to but excluding `end`, in order. */
  between(queueId: QueueId, logId: LogId, [start, end]: SeqRange): PayloadReference[] {
    const log = this.#logs.get(logKey(queueId, logId));
    if (log === undefined) return [];
    const found: PayloadReference[] = [];
    for (let i = lowerBound(log.seqs, start); i < log.seqs.length && log.seqs[i]! < end; i += 1) {
      found.push(log.bySeq.get(log.seqs[i]!)!);
    }
    return found;
  }

  /** References of all logs. */
  *all(): Generator<PayloadReference> {
    for (const { bySeq } of this.#logs.values()) yield* bySeq.values();
  }

  #logFor({ queueId, shard }: PayloadReference): LogReferences {
    let log = this.#logs.get(logKey(queueId, shard));
    if (log === undefined) {
      log = { bySeq: new Map(), seqs: [] };
      this.#logs.set(logKey(queueId, shard), log);
    }
    return log;
  }
}

const logKey = (queueId: QueueId, logId: LogId) => `${queueId}.${logId}`;

/** Index of the first of these sorted numbers that is not below `seq`. */
function lowerBound(seqs: readonly Seq[], seq: Seq): number {
  let low = 0;
  let high = seqs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seqs[middle]! < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
