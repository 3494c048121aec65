/**
 * The payload of the lab's messages: it identifies the message and proves that no byte has changed.
 *
 *     0    u32  nonce of the trial, which detects messages of other trials
 *     4    u32  number of the enqueuer, over all instances
 *     8    u32  sequence number of the message within its enqueuer, from 0
 *     12   f64  start of its commit, monotonic milliseconds
 *     20   …    pseudo-random bytes from the scenario's seed
 *     -4   u32  CRC-32 of all bytes before it
 *
 * All numbers are little-endian. A payload is checked against the one that its header describes: the body byte by byte, the header
 * by the CRC-32, which detects every burst of up to 32 bits and all but one in 4 × 10⁹ other errors.
 */
import { crc32 } from 'node:zlib';
import { crcOfHeaderWords, type WordCrc } from './crc-parts.ts';

export const payloadHeaderBytes = 24;
const bodyAt = 20;
const crcBytes = 4;

/** Payloads are cut from slabs of this size: an allocation for each would cost more than its content. */
const slabBytes = 128 * 1024;

export interface PayloadIdentity {
  enqueuer: number;
  sequence: number;
  sentAtMs: number;
}

/** Creates and checks the payloads of one trial, which all have the same size. */
export class PayloadCodec {
  /** A payload whose header has the trial's nonce, and zeroes where the message is identified. */
  readonly #template: Buffer;
  /**
   * The CRC-32 is linear: a payload's is that of the template XOR the contribution of each header word that identifies the
   * message.
   */
  readonly #templateCrc: number;
  readonly #crcOfEnqueuer: WordCrc;
  readonly #crcOfSequence: WordCrc;
  readonly #crcOfSentAt: readonly [WordCrc, WordCrc];
  readonly #sentAt = new Float64Array(1);
  readonly #sentAtWords = new Uint32Array(this.#sentAt.buffer);
  /** The payload that the header under check describes. */
  readonly #expected: Buffer;
  readonly #expectedView: DataView;
  #slab = Buffer.alloc(0);
  #view = viewOf(this.#slab);
  #at = 0;

  constructor(options: { bytes: number; seed: number; nonce: number }) {
    if (options.bytes < payloadHeaderBytes)
      throw new RangeError(`A payload must have at least ${payloadHeaderBytes} bytes`);
    this.#template = Buffer.alloc(options.bytes);
    let state = (options.seed ^ 0x9e3779b9) >>> 0 || 1;
    for (let index = bodyAt; index < options.bytes - crcBytes; index++) {
      // xorshift32: reproducible, and not compressible by a compressing file system.
      state ^= state << 13;
      state ^= state >>> 17;
      state = (state ^ (state << 5)) >>> 0;
      this.#template[index] = state & 0xff;
    }
    this.#template.writeUInt32LE(options.nonce >>> 0, 0);
    this.#templateCrc = crc32(this.#template.subarray(0, -crcBytes));
    const [, ofEnqueuer, ofSequence, ofSentAtLow, ofSentAtHigh] = crcOfHeaderWords(
      bodyAt,
      options.bytes - bodyAt - crcBytes,
    );
    this.#crcOfEnqueuer = ofEnqueuer!;
    this.#crcOfSequence = ofSequence!;
    this.#crcOfSentAt = [ofSentAtLow!, ofSentAtHigh!];
    this.#expected = Buffer.from(this.#template);
    this.#expectedView = viewOf(this.#expected);
  }

  /** Returns bytes that no other payload has, because the engine may keep them until the message is consumed. */
  make(identity: PayloadIdentity): Buffer {
    const bytes = this.#template.length;
    if (this.#at + bytes > this.#slab.length) this.#fillSlab();
    const at = this.#at;
    this.#at = at + bytes;
    this.#writeIdentity(this.#view, at, identity);
    return this.#slab.subarray(at, at + bytes);
  }

  /** Makes the template at `at` the payload of a message. */
  #writeIdentity(view: DataView, at: number, { enqueuer, sequence, sentAtMs }: PayloadIdentity): void {
    this.#sentAt[0] = sentAtMs;
    const [ofLow, ofHigh] = this.#crcOfSentAt;
    const crc =
      this.#templateCrc ^
      this.#crcOfEnqueuer.of(enqueuer) ^
      this.#crcOfSequence.of(sequence) ^
      ofLow.of(this.#sentAtWords[0]!) ^
      ofHigh.of(this.#sentAtWords[1]!);
    view.setUint32(at + 4, enqueuer, true);
    view.setUint32(at + 8, sequence, true);
    view.setFloat64(at + 12, sentAtMs, true);
    view.setUint32(at + this.#template.length - crcBytes, crc, true);
  }

  #fillSlab(): void {
    const bytes = this.#template.length;
    const count = Math.max(1, Math.floor(slabBytes / bytes));
    this.#slab = Buffer.allocUnsafeSlow(count * bytes);
    this.#slab.fill(this.#template);
    this.#view = viewOf(this.#slab);
    this.#at = 0;
  }

  /** The identity in a payload; null if it is damaged, or of another size or trial. Reads every byte. */
  check(payload: Buffer): PayloadIdentity | null {
    if (payload.length !== this.#expected.length) return null;
    const identity = {
      enqueuer: payload.readUInt32LE(4),
      sequence: payload.readUInt32LE(8),
      sentAtMs: payload.readDoubleLE(12),
    };
    this.#writeIdentity(this.#expectedView, 0, identity);
    return payload.equals(this.#expected) ? identity : null;
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer) => new DataView(buffer, byteOffset, byteLength);
