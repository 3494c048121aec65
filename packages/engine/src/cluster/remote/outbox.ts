/**
 * Frames on their way out of a socket. Those of one turn of the event loop leave in one write: a system call costs more
 * than a frame (measured: 6 µs against 1). While the peer does not read, they pile up here to `outboxBytesMax`, and
 * `full` says so; who fills it must stop then and wait for `drained`.
 */
import type { Socket } from 'node:net';
import { limits } from '../../core/limits.ts';
import { type IdRun, idRunsBytes, writeIdRuns } from '../../storage/id-runs.ts';
import { frameHeaderBytes, writeText } from './protocol.ts';

const bufferBytes = 64 * 1024;
/** Written at once when so much has come together, not at the end of the turn. */
const eagerBytes = 256 * 1024;
/** Larger buffers than this are not kept for the next turn. */
const keptBytesMax = 1024 * 1024;
const keptMax = 4;

export class Outbox {
  readonly #socket: Socket;
  readonly #kept: Buffer[] = [];
  #buffer: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #frameAt = 0;
  #scheduled = false;
  #waiting: (() => void)[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('drain', () => this.#wake());
    socket.on('close', () => this.#wake());
  }

  /** Never if the peer is gone: what is sent to it then goes nowhere. */
  get full(): boolean {
    return this.#socket.writableLength > limits.outboxBytesMax && !this.#socket.destroyed;
  }

  /** Resolves when the peer has read what it was sent, or is gone; the next one may have filled it again by then. */
  drained(): Promise<void> {
    if (!this.full) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  begin(kind: number, request: number): void {
    this.#frameAt = this.#used;
    this.#ensure(frameHeaderBytes);
    this.#buffer[this.#used + 4] = kind;
    this.#buffer.writeUInt32LE(request, this.#used + 5);
    this.#used += frameHeaderBytes;
  }

  u8(value: number): void {
    this.#ensure(1);
    this.#buffer[this.#used] = value;
    this.#used += 1;
  }

  u16(value: number): void {
    this.#ensure(2);
    this.#used = this.#buffer.writeUInt16LE(value, this.#used);
  }

  u32(value: number): void {
    this.#ensure(4);
    this.#used = this.#buffer.writeUInt32LE(value, this.#used);
  }

  f64(value: number): void {
    this.#ensure(8);
    this.#used = this.#buffer.writeDoubleLE(value, this.#used);
  }

  /** A name or a receipt; `assertText` says which may be. */
  text(text: string): void {
    this.#ensure(2 + text.length * 3);
    this.#used = writeText(this.#buffer, this.#used, text);
  }

  /** UTF-8 up to the end of the frame. */
  rest(text: string): void {
    this.#ensure(Buffer.byteLength(text));
    this.#used += this.#buffer.write(text, this.#used);
  }

  bytes(source: Buffer, start: number, end: number): void {
    this.#ensure(end - start);
    this.#used += source.copy(this.#buffer, this.#used, start, end);
  }

  idRuns(runs: readonly IdRun[]): void {
    this.fill(idRunsBytes(runs), (target, start) => writeIdRuns(target, start, runs));
  }

  /** Room for `bytes` that the caller fills through `write`, which returns where it ended. */
  fill(bytes: number, write: (target: Buffer, start: number) => number): void {
    this.#ensure(bytes);
    this.#used = write(this.#buffer, this.#used);
  }

  /** Ends the frame under another kind than it was begun with. */
  endAs(kind: number): void {
    this.#buffer[this.#frameAt + 4] = kind;
    this.end();
  }

  end(): void {
    this.#buffer.writeUInt32LE(this.#used - this.#frameAt - 4, this.#frameAt);
    if (this.#used >= eagerBytes) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
  }

  /** Writes what is there, and ends the socket behind it. */
  close(): void {
    this.#flush();
    this.#socket.end();
  }

  #ensure(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.#used + bytes)));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
  }

  #flush(): void {
    if (this.#used === 0) return;
    const written = this.#buffer;
    const chunk = written.subarray(0, this.#used);
    this.#buffer = this.#kept.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    this.#used = 0;
    if (this.#socket.destroyed) return; // whoever waits for an answer hears of it by the socket's close
    this.#socket.write(chunk, () => {
      if (written.length <= keptBytesMax && this.#kept.length < keptMax) this.#kept.push(written);
    });
  }
}
