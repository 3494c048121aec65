/**
 * The payload of the lab's messages: it identifies the message and proves that no byte has changed.
 *
 *     0  u32  CRC-32 of all bytes after it
 *     4  u32  nonce of the trial, which detects messages of other trials
 *     8  u32  number of the enqueuer, over all instances
 *    12  u32  sequence number of the message within its enqueuer, from 0
 *    16  f64  start of its commit, monotonic milliseconds
 *    24  …    pseudo-random bytes from the scenario's seed
 *
 * All numbers are little-endian. CRC-32 detects every burst of up to 32 bits, and all but one in 4 × 10⁹ other errors.
 */
import { crc32 } from 'node:zlib';

export const payloadHeaderBytes = 24;

export interface PayloadIdentity {
  enqueuer: number;
  sequence: number;
  sentAtMs: number;
}

/** Creates and checks the payloads of one trial, which all have the same size. */
export class PayloadCodec {
  readonly #template: Buffer;
  readonly #nonce: number;

  constructor(options: { bytes: number; seed: number; nonce: number }) {
    if (options.bytes < payloadHeaderBytes)
      throw new RangeError(`A payload must have at least ${payloadHeaderBytes} bytes`);
    this.#template = Buffer.alloc(options.bytes);
    this.#nonce = options.nonce >>> 0;
    let state = (options.seed ^ 0x9e3779b9) >>> 0 || 1;
    for (let index = payloadHeaderBytes; index < options.bytes; index++) {
      // xorshift32: reproducible, and not compressible by a compressing file system.
      state ^= state << 13;
      state ^= state >>> 17;
      state = (state ^ (state << 5)) >>> 0;
      this.#template[index] = state & 0xff;
    }
    this.#template.writeUInt32LE(this.#nonce, 4);
  }

  /** Returns a new buffer, because the engine may keep it until the message is consumed. */
  make({ enqueuer, sequence, sentAtMs }: PayloadIdentity): Buffer {
    const payload = Buffer.allocUnsafe(this.#template.length);
    this.#template.copy(payload);
    payload.writeUInt32LE(enqueuer, 8);
    payload.writeUInt32LE(sequence, 12);
    payload.writeDoubleLE(sentAtMs, 16);
    payload.writeUInt32LE(crc32(payload.subarray(4)), 0);
    return payload;
  }

  /** The identity in a payload; null if it is damaged, or of another size or trial. Reads every byte. */
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
