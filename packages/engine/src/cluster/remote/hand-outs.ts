/**
 * Messages on their way to a client, as runs of consecutive records in the engine's own format:
 *
 *     u32 shard (0: an unsharded queue) · f64 first sequence number · u32 count · u32 delivery count
 *     text: what follows the id in each receipt · u32 bytes · records
 *
 * The client reads a record only when somebody looks at the message.
 */
import { limits } from '../../core/limits.ts';
import {
  idBytesMax,
  type RecordFields,
  readId,
  readRecord,
  recordBytes,
  recordEnd,
  writeRecord,
} from '../../storage/message-record.ts';
import type { Message, NewMessage } from '../../types.ts';
import type { BodyReader } from './body-reader.ts';
import type { Outbox } from './outbox.ts';
import { protocolError, replies } from './protocol.ts';

/** Answers a dequeue, in several frames if it is large; waits between them for a client that is slow to read. */
export async function sendHandOuts(
  outbox: Outbox,
  request: number,
  messages: readonly Message[],
): Promise<void> {
  while (outbox.full) await outbox.drained();
  outbox.begin(replies.handedOut, request);
  let bytes = 0;
  for (const [index, message] of messages.entries()) {
    bytes += writeHandOut(outbox, message);
    if (bytes < limits.handOutFrameBytes || index === messages.length - 1) continue;
    bytes = 0;
    outbox.endAs(replies.part);
    while (outbox.full) await outbox.drained();
    outbox.begin(replies.handedOut, request);
  }
  outbox.end();
}

function writeHandOut(outbox: Outbox, message: Message): number {
  const { id, receipt, enqueuedAtMs } = message;
  const isSharded = id.includes('.');
  // Of a message that kept an id from elsewhere the receipt tells the place.
  const place = isSharded ? receipt.split('.', 2).join('.') : id;
  const dot = place.indexOf('.');
  outbox.u32(isSharded ? Number(place.slice(0, dot)) : 0);
  outbox.f64(Number(place.slice(dot + 1)));
  outbox.u32(1);
  outbox.u32(message.deliveryCount);
  outbox.text(receipt.slice(place.length + 1));
  const content = message as NewMessage;
  const stamp = id === place ? { enqueuedAtMs } : { enqueuedAtMs, id };
  const room = recordBytes(content) + 2 + idBytesMax;
  const record = Buffer.allocUnsafe(room);
  const bytes = writeRecord(record, 0, content, stamp);
  outbox.u32(bytes);
  outbox.fill(bytes, (target, start) => start + record.copy(target, start, 0, bytes));
  return bytes;
}

/** Appends the messages of a frame to `out`. */
export function readHandOuts(body: BodyReader, out: Message[]): void {
  while (body.left > 0) {
    const shard = body.u32();
    const firstSeq = body.f64();
    const count = body.u32();
    const run = { prefix: shard === 0 ? '' : `${shard}.`, deliveryCount: body.u32(), suffix: body.text() };
    const bytes = body.u32();
    let at = body.skip(bytes);
    const end = at + bytes;
    for (let index = 0; index < count; index += 1) {
      if (at + 4 > end) throw protocolError('A hand-out has fewer records than it says');
      out.push(new RemoteMessage(run, firstSeq + index, body.source, at));
      at = recordEnd(body.source, at);
    }
    if (at !== end) throw protocolError('The records of a hand-out do not end where it says');
  }
}

interface HandOut {
  prefix: string;
  suffix: string;
  deliveryCount: number;
}

class RemoteMessage implements Message {
  readonly #handOut: HandOut;
  readonly #seq: number;
  readonly #source: Buffer;
  readonly #start: number;
  #fields: RecordFields | undefined;

  constructor(handOut: HandOut, seq: number, source: Buffer, start: number) {
    this.#handOut = handOut;
    this.#seq = seq;
    this.#source = source;
    this.#start = start;
  }

  get #read(): RecordFields {
    this.#fields ??= readRecord(this.#source, this.#start);
    return this.#fields;
  }

  get id(): string {
    return readId(this.#source, this.#start) ?? this.#place;
  }

  get #place(): string {
    return `${this.#handOut.prefix}${this.#seq}`;
  }

  get receipt(): string {
    return `${this.#place}.${this.#handOut.suffix}`;
  }

  get deliveryCount(): number {
    return this.#handOut.deliveryCount;
  }

  get payload(): Buffer {
    return this.#read.payload;
  }

  get correlationId(): string | undefined {
    return this.#read.correlationId;
  }

  get groupKey(): string | undefined {
    return this.#read.groupKey;
  }

  get properties(): Record<string, string> | undefined {
    return this.#read.properties;
  }

  get recipients(): string[] | undefined {
    return this.#read.recipients;
  }

  get priority(): number | undefined {
    return this.#read.priority;
  }

  get enqueuedAtMs(): number {
    return this.#read.enqueuedAtMs;
  }

  toJSON(): Message {
    const { id, receipt, deliveryCount } = this;
    return { id, ...this.#read, deliveryCount, receipt };
  }
}
