/**
 * Streamed payloads. The first block identifies the message like any payload of the lab; the others repeat one block of
 * the trial, so that neither side has more than one block in memory and every byte is compared.
 */
import { queueLimits } from '@shardlab/contract/plain';
import type { SessionTime, WaitEvent } from '@shardlab/engine';
import { PayloadCodec, type PayloadIdentity } from '../../../integrity/payload.ts';

const blockBytes = 256 * 1024;

export const isStreamed = (payloadBytes: number): boolean => payloadBytes > queueLimits.payloadBytesMax;

export class StreamedPayloadCodec {
  readonly #bytes: number;
  readonly #first: PayloadCodec;
  readonly #block: Buffer;

  constructor({ bytes, ...trial }: { bytes: number; seed: number; nonce: number }) {
    this.#bytes = bytes;
    this.#first = new PayloadCodec({ bytes: blockBytes, ...trial });
    this.#block = this.#first.make({ enqueuer: 0, sequence: 0, sentAtMs: 0 });
  }

  async *make(identity: PayloadIdentity): AsyncGenerator<Buffer> {
    yield this.#first.make(identity);
    for (let at = blockBytes; at < this.#bytes; at += blockBytes)
      yield this.#block.subarray(0, Math.min(blockBytes, this.#bytes - at));
  }

  /**
   * The identity in a payload; null if it is damaged, or of another size or trial. Reads every byte. `reading`: the time book of the
   * session that reads, and what it waits for between the pieces. The caller resumes the session's time.
   */
  async check(
    payload: AsyncIterable<Uint8Array>,
    reading?: { time: SessionTime; event: WaitEvent },
  ): Promise<PayloadIdentity | null> {
    reading?.time.suspend(undefined, reading.event);
    const first = Buffer.allocUnsafe(blockBytes);
    let at = 0;
    let whole = true;
    for await (const piece of payload) {
      reading?.time.resume();
      for (let from = 0; from < piece.byteLength; ) {
        const offset = at % blockBytes;
        const part = piece.subarray(from, from + Math.min(piece.byteLength - from, blockBytes - offset));
        if (at < blockBytes) first.set(part, offset);
        else whole &&= this.#block.compare(part, 0, part.byteLength, offset, offset + part.byteLength) === 0;
        at += part.byteLength;
        from += part.byteLength;
      }
      reading?.time.suspend(undefined, reading.event);
    }
    return whole && at === this.#bytes ? this.#first.check(first) : null;
  }
}
