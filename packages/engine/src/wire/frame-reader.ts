/** Splits the bytes of a socket into frames. A frame is copied only if it arrives in several pieces. */
import { limits } from '../api/limits.ts';
import { frameLengthMin, protocolError } from './protocol.ts';

/** The frame, without its length field, is `source` from `start` to `end`. It may be kept: `source` is not written to again. */
export type OnFrame = (source: Buffer, start: number, end: number) => void;

export class FrameReader {
  readonly #onFrame: OnFrame;
  readonly #lengthPrefix = Buffer.alloc(4);
  #lengthPrefixBytes = 0;
  /** The frame whose first bytes have arrived. */
  #partialFrame: Buffer | undefined;
  #partialFrameBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** Throws `PROTOCOL_INVALID` for an impossible frame length, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    let at = this.#continueFrame(chunk);
    while (at < chunk.length) {
      if (this.#lengthPrefixBytes > 0 || chunk.length - at < 4) {
        while (this.#lengthPrefixBytes < 4 && at < chunk.length) {
          this.#lengthPrefix[this.#lengthPrefixBytes] = chunk[at]!;
          this.#lengthPrefixBytes += 1;
          at += 1;
        }
        if (this.#lengthPrefixBytes < 4) return;
        this.#lengthPrefixBytes = 0;
        at = this.#takeFrame(chunk, at, validateFrameLength(this.#lengthPrefix.readUInt32LE(0)));
      } else at = this.#takeFrame(chunk, at + 4, validateFrameLength(chunk.readUInt32LE(at)));
    }
  }

  /** Adds the chunk to the partial frame, if there is one; returns the offset of the next frame. */
  #continueFrame(chunk: Buffer): number {
    const frame = this.#partialFrame;
    if (frame === undefined) return 0;
    const taken = chunk.copy(frame, this.#partialFrameBytes);
    this.#partialFrameBytes += taken;
    if (this.#partialFrameBytes === frame.length) {
      this.#partialFrame = undefined;
      this.#onFrame(frame, 0, frame.length);
    }
    return taken;
  }

  #takeFrame(chunk: Buffer, start: number, length: number): number {
    const end = start + length;
    if (end <= chunk.length) {
      this.#onFrame(chunk, start, end);
      return end;
    }
    this.#partialFrame = Buffer.allocUnsafeSlow(length);
    this.#partialFrameBytes = chunk.copy(this.#partialFrame, 0, start);
    return chunk.length;
  }
}

function validateFrameLength(length: number): number {
  if (length >= frameLengthMin && length <= limits.frameBytesMax) return length;
  throw protocolError(
    `A frame has ${frameLengthMin} to ${limits.frameBytesMax} bytes; this one claims ${length}`,
  );
}
