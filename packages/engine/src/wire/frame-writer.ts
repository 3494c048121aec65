/**
 * Encodes frames and writes them to a socket. The frames of one turn of the event loop leave in one write, because a
 * system call costs 6 µs and a frame 1 µs (measured). While the peer does not read, up to `outboxBytesMax` bytes are
 * buffered; then `full` is true, and the caller must stop and wait for `drained`.
 */
import type { Socket } from 'node:net';
import { limits } from '../api/limits.ts';
import { type IdRun, idRunsBytes, writeIdRuns } from '../model/id-runs.ts';
import type { Timers } from '../model/ports.ts';
import { frameHeaderBytes, writeText } from './protocol.ts';

const bufferBytes = 64 * 1024;
/** With so many bytes buffered, they are written without waiting for the end of the turn. */
const flushNowBytes = 256 * 1024;
/** Larger buffers are not reused. */
const spareBufferBytesMax = 1024 * 1024;
const spareBuffersMax = 4;

export class FrameWriter {
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #spareBuffers: Buffer[] = [];
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #frameStart = 0;
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

  beginFrame(kind: number, request: number): void {
    this.#frameStart = this.#used;
    this.#ensureCapacity(frameHeaderBytes);
    this.#buffer[this.#used + 4] = kind;
    this.#buffer.writeUInt32LE(request, this.#used + 5);
    this.#used += frameHeaderBytes;
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
    this.#buffer[this.#frameStart + 4] = kind;
    this.endFrame();
  }

  endFrame(): void {
    this.#buffer.writeUInt32LE(this.#used - this.#frameStart - 4, this.#frameStart);
    if (this.#used >= flushNowBytes) this.#flush();
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
    const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.#used + bytes)));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
  }

  #flush(): void {
    if (this.#used === 0) return;
    const written = this.#buffer;
    const chunk = written.subarray(0, this.#used);
    this.#buffer = this.#spareBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    this.#used = 0;
    if (this.#socket.destroyed) return; // requests without an answer are rejected on the socket's close
    this.#socket.write(chunk, () => {
      if (written.length <= spareBufferBytesMax && this.#spareBuffers.length < spareBuffersMax)
        this.#spareBuffers.push(written);
    });
  }
}
