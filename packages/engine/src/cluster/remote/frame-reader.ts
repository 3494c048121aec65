/** Cuts what arrives on a socket into frames. Whole frames are looked at where they lie; only a split one is copied. */
import { limits } from '../../core/limits.ts';
import { frameLengthMin, protocolError } from './protocol.ts';

/** `source` from `start` to `end` is the frame without its length; it is not written to again, so it may be kept. */
export type OnFrame = (source: Buffer, start: number, end: number) => void;

export class FrameReader {
  readonly #onFrame: OnFrame;
  readonly #length = Buffer.alloc(4);
  #lengthBytes = 0;
  /** The frame that is not complete yet. */
  #frame: Buffer | undefined;
  #filled = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** Throws `PROTOCOL_INVALID` at a length that cannot be, and whatever the frame's reader throws. */
  push(chunk: Buffer): void {
    let at = this.#fill(chunk);
    while (at < chunk.length) {
      if (this.#lengthBytes > 0 || chunk.length - at < 4) {
        while (this.#lengthBytes < 4 && at < chunk.length) {
          this.#length[this.#lengthBytes] = chunk[at]!;
          this.#lengthBytes += 1;
          at += 1;
        }
        if (this.#lengthBytes < 4) return;
        this.#lengthBytes = 0;
        at = this.#take(chunk, at, checked(this.#length.readUInt32LE(0)));
      } else at = this.#take(chunk, at + 4, checked(chunk.readUInt32LE(at)));
    }
  }

  /** Goes on with the frame that is not complete; returns where the next one starts. */
  #fill(chunk: Buffer): number {
    const frame = this.#frame;
    if (frame === undefined) return 0;
    const taken = chunk.copy(frame, this.#filled);
    this.#filled += taken;
    if (this.#filled === frame.length) {
      this.#frame = undefined;
      this.#onFrame(frame, 0, frame.length);
    }
    return taken;
  }

  #take(chunk: Buffer, start: number, length: number): number {
    const end = start + length;
    if (end <= chunk.length) {
      this.#onFrame(chunk, start, end);
      return end;
    }
    this.#frame = Buffer.allocUnsafeSlow(length);
    this.#filled = chunk.copy(this.#frame, 0, start);
    return chunk.length;
  }
}

function checked(length: number): number {
  if (length >= frameLengthMin && length <= limits.frameBytesMax) return length;
  throw protocolError(
    `A frame of ${length} bytes cannot be: ${frameLengthMin} to ${limits.frameBytesMax} may`,
  );
}
