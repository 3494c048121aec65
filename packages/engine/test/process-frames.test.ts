/** Frames between the session thread and the writer process arrive whole, however the pipe splits them. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { encodeFrame, FrameReader, FrameSplitter } from '../src/storage/threads/process-frames.ts';

const frames = fc.array(
  fc.record({ head: fc.record({ text: fc.string(), bytes: fc.uint8Array() }), body: fc.uint8Array() }),
);

it('heads arrive whole and in order, in whatever pieces the bytes arrive', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, lengths) => {
      const bytes = Buffer.concat(sent.map(({ head, body }) => encodeFrame(head, body)));
      const splitter = new FrameSplitter();
      const heads: unknown[] = [];
      for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
        const length = lengths[piece % lengths.length]!;
        heads.push(...splitter.push(bytes.subarray(at, at + length)));
        at += length;
      }
      expect(heads).toEqual(sent.map(({ head }) => head));
    }),
  );
});

it('frames are read one by one with their bodies, whether smaller or larger than the read-ahead', () => {
  const sent = [0, 10, 200_000, 3].map((length, index) => ({
    head: { index, text: 'a'.repeat(length * 2) },
    body: new Uint8Array(length).fill(index),
  }));
  const folder = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'frames');
  writeFileSync(
    path,
    Buffer.concat([...sent.map(({ head, body }) => encodeFrame(head, body)), Buffer.of(1, 2)]),
  );
  const descriptor = openSync(path, 'r');
  onTestFinished(() => closeSync(descriptor));
  const reader = new FrameReader(descriptor);
  for (const { head, body } of sent) {
    const read = reader.next()!;
    expect(read.head).toEqual(head);
    expect([...new Uint8Array(read.body, 0, body.length)]).toEqual([...body]);
  }
  expect(reader.next()).toBeUndefined(); // The last frame is incomplete.
});
