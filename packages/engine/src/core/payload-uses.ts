/**
 * Which messages have their payload in chunks. A payload is written once and may be that of several messages: one that was
 * handed out too often moves to its exception queue while other subscribers still wait for it. It is needed as long as
 * any of them is. Pure: the caller says when a message is finished, and deletes what nobody uses.
 */
export interface PayloadUse {
  queueId: number;
  /** The log that the message lies in, and its number there: of a delayed one, that of the delayed messages. */
  shard: number;
  seq: number;
  payload: number;
  /** Of the payload. */
  bytes: number;
}

/** The messages of one log. */
interface LogUses {
  bySeq: Map<number, PayloadUse>;
  /** The same, in order. */
  seqs: number[];
}

export class PayloadUses {
  readonly #logs = new Map<string, LogUses>();
  /** By payload: how many messages have it. */
  readonly #users = new Map<number, number>();
  #size = 0;
  #bytes = 0;

  /** Messages with a payload in chunks. */
  get size(): number {
    return this.#size;
  }

  /** Of all payloads, each counted once. */
  get bytes(): number {
    return this.#bytes;
  }

  isUsed(payload: number): boolean {
    return this.#users.has(payload);
  }

  add(use: PayloadUse): void {
    const log = this.#log(use);
    if (log.bySeq.has(use.seq)) throw new RangeError(`message ${use.shard}.${use.seq} has a payload already`);
    log.bySeq.set(use.seq, use);
    log.seqs.splice(firstFrom(log.seqs, use.seq), 0, use.seq);
    const users = this.#users.get(use.payload) ?? 0;
    this.#users.set(use.payload, users + 1);
    this.#size += 1;
    if (users === 0) this.#bytes += use.bytes;
  }

  /** Returns whether another message still has the payload. */
  remove({ queueId, shard, seq }: Pick<PayloadUse, 'queueId' | 'shard' | 'seq'>): boolean {
    const log = this.#logs.get(key(queueId, shard));
    const use = log?.bySeq.get(seq);
    if (log === undefined || use === undefined)
      throw new RangeError(`message ${shard}.${seq} has no payload`);
    log.bySeq.delete(seq);
    log.seqs.splice(firstFrom(log.seqs, seq), 1);
    if (log.seqs.length === 0) this.#logs.delete(key(queueId, shard));
    this.#size -= 1;
    const left = this.#users.get(use.payload)! - 1;
    if (left > 0) {
      this.#users.set(use.payload, left);
      return true;
    }
    this.#users.delete(use.payload);
    this.#bytes -= use.bytes;
    return false;
  }

  find(queueId: number, shard: number, seq: number): PayloadUse | undefined {
    return this.#logs.get(key(queueId, shard))?.bySeq.get(seq);
  }

  /** Those of one log from `start` up to but excluding `end`, in order. */
  between(queueId: number, shard: number, [start, end]: readonly [start: number, end: number]): PayloadUse[] {
    const log = this.#logs.get(key(queueId, shard));
    if (log === undefined) return [];
    const found: PayloadUse[] = [];
    for (let i = firstFrom(log.seqs, start); i < log.seqs.length && log.seqs[i]! < end; i += 1) {
      found.push(log.bySeq.get(log.seqs[i]!)!);
    }
    return found;
  }

  /** Those of all logs. */
  *all(): Generator<PayloadUse> {
    for (const { bySeq } of this.#logs.values()) yield* bySeq.values();
  }

  #log({ queueId, shard }: PayloadUse): LogUses {
    let log = this.#logs.get(key(queueId, shard));
    if (log === undefined) {
      log = { bySeq: new Map(), seqs: [] };
      this.#logs.set(key(queueId, shard), log);
    }
    return log;
  }
}

const key = (queueId: number, shard: number) => `${queueId}.${shard}`;

/** Index of the first of these sorted numbers that is not below `seq`. */
function firstFrom(seqs: readonly number[], seq: number): number {
  let low = 0;
  let high = seqs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seqs[middle]! < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
