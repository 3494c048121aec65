/** A socket that records what is written to it, the frames in that, and messages to send. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';

import type { NewMessage } from '../../src/api/message.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { FrameReader } from '../../src/wire/frame-reader.ts';
import { FrameWriter } from '../../src/wire/frame-writer.ts';

/** Records the chunks that are written; has no other function of a socket. */
export class Pipe extends EventEmitter {
  readonly chunks: Buffer[] = [];
  writableLength = 0;
  destroyed = false;

  write(chunk: Buffer, done?: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    done?.();
  }

  cork(): void {}

  uncork(): void {}
}

/** A writer of frames to the pipe. */
export function frameWriterTo(pipe: Pipe): FrameWriter {
  return new FrameWriter(pipe as unknown as Socket, nodePorts.timers);
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface Frame {
  kind: number;
  request: number;
  body: string;
}

/** Reads the frames in `bytes`, which arrive in pieces of the given lengths. */
export function framesOf(bytes: Buffer, pieces: readonly number[] = []): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((source, start, end) => {
    const body = source.toString('hex', start + 5, end);
    frames.push({ kind: source[start]!, request: source.readUInt32LE(start + 1), body });
  });
  let at = 0;
  for (const piece of pieces) {
    reader.push(bytes.subarray(at, Math.min(at + piece, bytes.length)));
    at = Math.min(at + piece, bytes.length);
  }
  reader.push(bytes.subarray(at));
  return frames;
}

/** Messages of every form that the protocol can carry. */
export const message: fc.Arbitrary<NewMessage> = fc.record(
  {
    payload: fc.uint8Array({ maxLength: 300 }),
    correlationId: fc.string({ unit: 'binary', maxLength: 40 }),
    groupKey: fc.string({ maxLength: 40 }),
    properties: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
    priority: fc.integer({ min: 1, max: 9 }),
    delayMs: fc.integer({ min: 1, max: 1_000_000 }),
    recipients: fc.array(
      fc.string({ minLength: 1, maxLength: 10 }).filter((name) => !/^\.{1,2}$|\0/.test(name)),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  },
  { requiredKeys: ['payload'] },
);
