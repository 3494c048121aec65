/**
 * Frames between the session thread and the writer process:
 *
 *     u32 bytes of the head · u32 bytes of the body · head, serialized by V8 · body
 *
 * Heads are rarely more than a few KB; a body is the buffer of a group. The process reads and writes without an event loop.
 */
import { readSync, writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';

const prefixBytes = 8;
const noBody = new Uint8Array(0);

export function encodeFrame(head: object, body: Uint8Array = noBody): Buffer {
  const encoded = serialize(head);
  const frame = Buffer.allocUnsafe(prefixBytes + encoded.length + body.length);
  frame.writeUInt32LE(encoded.length, 0);
  frame.writeUInt32LE(body.length, 4);
  frame.set(encoded, prefixBytes);
  frame.set(body, prefixBytes + encoded.length);
  return frame;
}

/** Splits what arrives into frames, of which the bodies are dropped. */
export class FrameSplitter {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The heads that are complete with these bytes. */
  *push(bytes: Uint8Array): Generator<unknown> {
    this.#chunks.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#bytes += bytes.byteLength;
    while (this.#bytes >= prefixBytes) {
      // Joined only once a frame is complete, or a long one would be copied again with each piece.
      if (this.#chunks[0]!.length < prefixBytes) this.#join();
      const first = this.#chunks[0]!;
      const headBytes = first.readUInt32LE(0);
      const end = prefixBytes + headBytes + first.readUInt32LE(4);
      if (this.#bytes < end) return;
      if (first.length < end) this.#join();
      const joined = this.#chunks[0]!;
      this.#bytes -= end;
      if (joined.length > end) this.#chunks[0] = joined.subarray(end);
      else this.#chunks.shift();
      yield deserialize(joined.subarray(prefixBytes, prefixBytes + headBytes));
    }
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}

/** Reads frames from a pipe and blocks the thread until one is there. */
export class FrameReader {
  readonly #descriptor: number;
  /** Bytes read ahead: usually one system call reads a whole frame. */
  readonly #ahead = Buffer.alloc(64 * 1024);
  #from = 0;
  #end = 0;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #body = new SharedArrayBuffer(64 * 1024);

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The next frame, or undefined at the end of the pipe. `body` is valid until the next call. */
  next(): { head: unknown; body: SharedArrayBuffer } | undefined {
    if (!this.#fill(this.#prefix)) return undefined;
    const head = Buffer.allocUnsafeSlow(this.#prefix.readUInt32LE(0)); // the values read may be views of it
    const bodyBytes = this.#prefix.readUInt32LE(4);
    if (bodyBytes > this.#body.byteLength) this.#body = new SharedArrayBuffer(bodyBytes);
    if (!this.#fill(head) || !this.#fill(Buffer.from(this.#body, 0, bodyBytes))) return undefined;
    return { head: deserialize(head), body: this.#body };
  }

  #fill(target: Buffer): boolean {
    for (let at = 0; at < target.length; ) {
      if (this.#from === this.#end) {
        this.#from = 0;
        this.#end = readSync(this.#descriptor, this.#ahead);
        if (this.#end === 0) return false;
      }
      const copied = this.#ahead.copy(target, at, this.#from, this.#end);
      this.#from += copied;
      at += copied;
    }
    return true;
  }
}

/** Writes a frame to a pipe and blocks the thread until it is written. */
export function writeFrame(descriptor: number, head: object): void {
  const frame = encodeFrame(head);
  for (let at = 0; at < frame.length; ) at += writeSync(descriptor, frame, at);
}
