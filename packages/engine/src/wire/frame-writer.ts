/**
 * Encodes frames and writes them to a socket. The frames of one turn of the event loop are sent in one write, because a
 * system call costs 6 µs and a frame 1 µs (measured). A large field is sent in the same write without being copied. While the
 * peer does not read, up to `outboxBytesMax` bytes are buffered; then `full` is true, and the caller must stop and wait for
 * `drained`.
 */

import type { Socket } from 'node:net';
import { limits } from '../api/limits.ts';
import { type IdRun, idRunsBytes, writeIdRuns } from '../model/id-runs.ts';
import type { RequestNumber } from '../model/ids.ts';
import type { Timers } from '../model/ports.ts';
import { frameHeaderBytes, writeText } from './protocol.ts';

const bufferBytes = 64 * 1024;
/** Once this many bytes are buffered, they are written without waiting for the end of the turn. */
const flushNowBytes = 256 * 1024;
/** A field of at least this size is not copied: from here on a copy costs more than one more buffer in a write. */
const referencedBytesMin = 32 * 1024;
/** Larger buffers are not reused. */
const spareBufferBytesMax = 1024 * 1024;
const spareBuffersMax = 4;

export class FrameWriter {
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #spareBuffers: Buffer[] = [];
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  /** Buffers to send before the part of `#buffer` from `#partStart` on. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #partStart = 0;
  /** Start of the last frame in its buffer, and number of buffered bytes in front of it. */
  #frameBuffer = this.#buffer;
  #frameStart = 0;
  #frameStartBytes = 0;
  /** Kind of the last frame; 0 if it was sent. */
  #frameKind = 0;
  #scheduled = false;
  #waiting: (() => void)[] = [];

  constructor(socket: Socket, timers: Timers) {
    this.#socket = socket;
    this.#timers = timers;
    socket.on('drain', () => this.#resumeWaiters());
    socket.on('close', () => this.#resumeWaiters());
  }

  /** False once the socket is destroyed: what is written then is discarded. */
  get full(): boolean {
    return this.#socket.writableLength > limits.outboxBytesMax && !this.#socket.destroyed;
  }

  /** Resolves when the peer has read enough, or the socket is closed. `full` may be true again by then. */
  drained(): Promise<void> {
    if (!this.full) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #resumeWaiters(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Bytes that have not left yet. */
  get bufferedBytes(): number {
    return this.#partsBytes + this.#used - this.#partStart;
  }

  beginFrame(kind: number, request: RequestNumber): void {
    this.#ensureCapacity(frameHeaderBytes);
    this.#frameBuffer = this.#buffer;
    this.#frameStart = this.#used;
    this.#frameStartBytes = this.bufferedBytes;
    this.#frameKind = kind;
    this.#buffer[this.#used + 4] = kind;
    this.#buffer.writeUInt32LE(request, this.#used + 5);
    this.#used += frameHeaderBytes;
  }

  /** Continues the last frame if it is of this kind and not sent yet; otherwise begins one with the request number 0. */
  continueFrame(kind: number): void {
    if (this.#frameKind !== kind) this.beginFrame(kind, 0);
  }

  u8(value: number): void {
    this.#ensureCapacity(1);
    this.#buffer[this.#used] = value;
    this.#used += 1;
  }

  u16(value: number): void {
    this.#ensureCapacity(2);
    this.#used = this.#buffer.writeUInt16LE(value, this.#used);
  }

  u32(value: number): void {
    this.#ensureCapacity(4);
    this.#used = this.#buffer.writeUInt32LE(value, this.#used);
  }

  f64(value: number): void {
    this.#ensureCapacity(8);
    this.#used = this.#buffer.writeDoubleLE(value, this.#used);
  }

  /** A name or a receipt that passed `assertText`. */
  text(text: string): void {
    this.#ensureCapacity(2 + text.length * 3);
    this.#used = writeText(this.#buffer, this.#used, text);
  }

  /** UTF-8 without a length: must be the last field of the frame. */
  remainingText(text: string): void {
    this.#ensureCapacity(Buffer.byteLength(text));
    this.#used += this.#buffer.write(text, this.#used);
  }

  bytes(source: Buffer, start: number, end: number): void {
    this.#ensureCapacity(end - start);
    this.#used += source.copy(this.#buffer, this.#used, start, end);
  }

  /**
   * As `bytes`, but sends a large range without copying it. Returns true if it was not copied: then `source` must not be modified
   * afterwards.
   */
  sharedBytes(source: Buffer, start: number, end: number): boolean {
    if (end - start < referencedBytesMin) {
      this.bytes(source, start, end);
      return false;
    }
    this.#endPart();
    this.#parts.push(source.subarray(start, end));
    this.#partsBytes += end - start;
    return true;
  }

  #endPart(): void {
    if (this.#used > this.#partStart) this.#parts.push(this.#buffer.subarray(this.#partStart, this.#used));
    this.#partsBytes = this.bufferedBytes;
    this.#partStart = this.#used;
  }

  idRuns(runs: readonly IdRun[]): void {
    this.writeWith(idRunsBytes(runs), (target, start) => writeIdRuns(target, start, runs));
  }

  /** Lets `write` fill at most `bytes` bytes; it returns the end of what it wrote. */
  writeWith(bytes: number, write: (target: Buffer, start: number) => number): void {
    this.#ensureCapacity(bytes);
    this.#used = write(this.#buffer, this.#used);
  }

  /** Ends the frame with another kind than `beginFrame` gave it. */
  endFrameAs(kind: number): void {
    this.#frameBuffer[this.#frameStart + 4] = kind;
    this.#frameKind = kind;
    this.endFrame();
  }

  endFrame(): void {
    const bytes = this.bufferedBytes;
    this.#frameBuffer.writeUInt32LE(bytes - this.#frameStartBytes - 4, this.#frameStart);
    if (bytes >= flushNowBytes) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      this.#timers.nextTurn(this.#onTurnEnd);
    }
  }

  readonly #onTurnEnd = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  /** Writes what is buffered, then ends the socket. */
  close(): void {
    this.#flush();
    this.#socket.end();
  }

  #ensureCapacity(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return;
    if (this.#parts.length > 0) {
      // Parts refer to it, so it is left as it is.
      this.#endPart();
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(bufferBytes, bytes));
      this.#used = 0;
      this.#partStart = 0;
      return;
    }
    const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.#used + bytes)));
    this.#buffer.copy(grown, 0, 0, this.#used);
    if (this.#frameBuffer === this.#buffer) this.#frameBuffer = grown;
    this.#buffer = grown;
  }

  #flush(): void {
    if (this.bufferedBytes === 0) return;
    const written = this.#buffer;
    const chunk = written.subarray(this.#partStart, this.#used);
    const parts = this.#parts;
    this.#buffer = this.#spareBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    this.#used = 0;
    this.#parts = [];
    this.#partsBytes = 0;
    this.#partStart = 0;
    this.#frameKind = 0;
    if (this.#socket.destroyed) return; // requests without an answer are rejected on the socket's close
    const onWritten = () => {
      if (written.length <= spareBufferBytesMax && this.#spareBuffers.length < spareBuffersMax)
        this.#spareBuffers.push(written);
    };
    if (parts.length === 0) {
      this.#socket.write(chunk, onWritten);
      return;
    }
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.write(chunk, onWritten); // empty if a large field was the last one
    this.#socket.uncork();
  }
}
