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
 * All numbers are little-endian. CRC-32 detects every burst of up to 32 bits, and all but one in 4 × 10⁹ other errors. With the
 * checksum at the end, the CRC-32 of a whole payload is the same number for all, so it is checked in one pass.
 */
import { crc32 } from 'node:zlib';
import { crcOfWords, ZeroShift } from './crc-parts.ts';

export const payloadHeaderBytes = 24;
const bodyAt = 20;
const crcBytes = 4;

/** CRC-32 of any bytes followed by their own CRC-32. */
const residue = 0x2144df1c;

/** Payloads are cut from slabs of this size: an allocation for each would cost more than its content. */
const slabBytes = 128 * 1024;

export interface PayloadIdentity {
  enqueuer: number;
  sequence: number;
  sentAtMs: number;
}

/** Creates and checks the payloads of one trial, which all have the same size. */
export class PayloadCodec {
  /** A payload whose header is of the trial only, without the checksum. */
  readonly #template: Buffer;
  readonly #nonce: number;
  /** Checksum of the body, and what the header's checksum is after as many bytes. */
  readonly #bodyCrc: number;
  readonly #shift: ZeroShift;
  readonly #sentAt = new Float64Array(1);
  readonly #header = new Uint32Array(bodyAt / 4);
  readonly #sentAtWords = new Uint32Array(this.#sentAt.buffer);
  #slab = Buffer.alloc(0);
  #view = new DataView(this.#slab.buffer);
  #at = 0;

  constructor(options: { bytes: number; seed: number; nonce: number }) {
    if (options.bytes < payloadHeaderBytes)
      throw new RangeError(`A payload must have at least ${payloadHeaderBytes} bytes`);
    this.#template = Buffer.alloc(options.bytes);
    this.#nonce = options.nonce >>> 0;
    let state = (options.seed ^ 0x9e3779b9) >>> 0 || 1;
    for (let index = bodyAt; index < options.bytes - crcBytes; index++) {
      // xorshift32: reproducible, and not compressible by a compressing file system.
      state ^= state << 13;
      state ^= state >>> 17;
      state = (state ^ (state << 5)) >>> 0;
      this.#template[index] = state & 0xff;
    }
    this.#template.writeUInt32LE(this.#nonce, 0);
    const body = this.#template.subarray(bodyAt, options.bytes - crcBytes);
    this.#bodyCrc = crc32(body);
    this.#shift = new ZeroShift(body.length);
  }

  /**
   * Returns bytes that no other payload has, because the engine may keep them until the message is consumed. The body is the
   * same in all payloads, so that only the header's checksum is computed for each.
   */
  make({ enqueuer, sequence, sentAtMs }: PayloadIdentity): Buffer {
    const bytes = this.#template.length;
    if (this.#at + bytes > this.#slab.length) this.#fillSlab();
    const at = this.#at;
    const end = at + bytes;
    this.#at = end;
    const header = this.#header;
    this.#sentAt[0] = sentAtMs;
    header[0] = this.#nonce;
    header[1] = enqueuer;
    header[2] = sequence;
    header[3] = this.#sentAtWords[0]!;
    header[4] = this.#sentAtWords[1]!;
    const view = this.#view;
    view.setUint32(at + 4, enqueuer, true);
    view.setUint32(at + 8, sequence, true);
    view.setFloat64(at + 12, sentAtMs, true);
    view.setUint32(end - crcBytes, this.#shift.apply(crcOfWords(header)) ^ this.#bodyCrc, true);
    return this.#slab.subarray(at, end);
  }

  #fillSlab(): void {
    const bytes = this.#template.length;
    const count = Math.max(1, Math.floor(slabBytes / bytes));
    this.#slab = Buffer.allocUnsafeSlow(count * bytes);
    this.#slab.fill(this.#template);
    this.#view = new DataView(this.#slab.buffer);
    this.#at = 0;
  }

  /** The identity in a payload; null if it is damaged, or of another size or trial. Reads every byte. */
  check(payload: Buffer): PayloadIdentity | null {
    if (payload.length !== this.#template.length) return null;
    if (crc32(payload) !== residue) return null;
    if (payload.readUInt32LE(0) !== this.#nonce) return null;
    return {
      enqueuer: payload.readUInt32LE(4),
      sequence: payload.readUInt32LE(8),
      sentAtMs: payload.readDoubleLE(12),
    };
  }
}
