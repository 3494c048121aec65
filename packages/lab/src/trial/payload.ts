/**
 * The payload that the lab sends: it says which message it is and proves that none of its bytes changed.
 *
 *     0  u32  CRC-32 of all bytes after it
 *     4  u32  nonce of the trial: a message of another trial is a foreign one
 *     8  u32  number of the enqueuer, over all instances
 *    12  u32  sequence number of the message within its enqueuer, from 0
 *    16  f64  when its commit began, monotonic milliseconds
 *    24  …    pseudo-random bytes from the scenario's seed
 *
 * All little-endian. CRC-32 finds every burst up to 32 bits and misses one other damage in 4 × 10⁹.
 */
import { crc32 } from 'node:zlib';

export const payloadHeaderBytes = 24;

export interface PayloadIdentity {
  enqueuer: number;
  sequence: number;
  sentAtMs: number;
}

/** Makes and checks the payloads of one trial, all of one size. */
export class PayloadForge {
  readonly #template: Buffer;
  readonly #nonce: number;

  constructor(options: { bytes: number; seed: number; nonce: number }) {
    if (options.bytes < payloadHeaderBytes)
      throw new RangeError(`a payload has at least ${payloadHeaderBytes} bytes`);
    this.#template = Buffer.alloc(options.bytes);
    this.#nonce = options.nonce >>> 0;
    let state = (options.seed ^ 0x9e3779b9) >>> 0 || 1;
    for (let index = payloadHeaderBytes; index < options.bytes; index++) {
      // xorshift32: repeatable, and does not compress away on a file system that compresses.
      state ^= state << 13;
      state ^= state >>> 17;
      state = (state ^ (state << 5)) >>> 0;
      this.#template[index] = state & 0xff;
    }
    this.#template.writeUInt32LE(this.#nonce, 4);
  }

  /** A new buffer for each message, since the engine may keep it until the message is consumed. */
  make({ enqueuer, sequence, sentAtMs }: PayloadIdentity): Buffer {
    const payload = Buffer.allocUnsafe(this.#template.length);
    this.#template.copy(payload);
    payload.writeUInt32LE(enqueuer, 8);
    payload.writeUInt32LE(sequence, 12);
    payload.writeDoubleLE(sentAtMs, 16);
    payload.writeUInt32LE(crc32(payload.subarray(4)), 0);
    return payload;
  }

  /** Which message a payload is; null if it is damaged, of another size or of another trial. Reads every byte. */
  check(payload: Buffer): PayloadIdentity | null {
    if (payload.length !== this.#template.length) return null;
    if (payload.readUInt32LE(0) !== crc32(payload.subarray(4))) return null;
    if (payload.readUInt32LE(4) !== this.#nonce) return null;
    return {
      enqueuer: payload.readUInt32LE(8),
      sequence: payload.readUInt32LE(12),
      sentAtMs: payload.readDoubleLE(16),
    };
  }
}
