import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PayloadCodec, payloadHeaderBytes } from '../src/integrity/payload.ts';

const identity = { enqueuer: 3, sequence: 70_000, sentAtMs: 12_345.678 };

describe('a payload', () => {
  test('has the size asked for and says which message it is', () => {
    const codec = new PayloadCodec({ bytes: 512, seed: 1, nonce: 9 });
    const payload = codec.make(identity);
    expect(payload).toHaveLength(512);
    expect(codec.check(payload)).toEqual(identity);
  });

  test('is the same bytes for the same seed, others for another', () => {
    const bytes = (seed: number) =>
      new PayloadCodec({ bytes: 64, seed, nonce: 1 }).make(identity).toString('hex');
    expect(bytes(5)).toBe(bytes(5));
    expect(bytes(5)).not.toBe(bytes(6));
  });

  test('is damaged by any change of any byte', () => {
    const codec = new PayloadCodec({ bytes: 48, seed: 1, nonce: 9 });
    fc.assert(
      fc.property(fc.nat(47), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const payload = codec.make(identity);
        payload[at] = payload[at]! ^ flip;
        expect(codec.check(payload)).toBeNull();
      }),
    );
  });

  test('is damaged with the header of another message', () => {
    const codec = new PayloadCodec({ bytes: 48, seed: 1, nonce: 9 });
    const payload = codec.make(identity);
    codec.make({ ...identity, sequence: 70_001 }).copy(payload, 0, 0, 20);
    expect(codec.check(payload)).toBeNull();
  });

  test('is damaged if it is shorter, longer, or of another trial', () => {
    const codec = new PayloadCodec({ bytes: 48, seed: 1, nonce: 9 });
    const payload = codec.make(identity);
    expect(codec.check(payload.subarray(0, 47))).toBeNull();
    expect(codec.check(Buffer.concat([payload, Buffer.alloc(1)]))).toBeNull();
    expect(new PayloadCodec({ bytes: 48, seed: 1, nonce: 10 }).check(payload)).toBeNull();
  });

  test('does not share memory with the previous one', () => {
    const codec = new PayloadCodec({ bytes: 48, seed: 1, nonce: 9 });
    const first = codec.make(identity);
    codec.make({ ...identity, sequence: 1 });
    expect(codec.check(first)).toEqual(identity);
  });

  test('is checked at every size, also without a body or with a last word that is not full', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: payloadHeaderBytes, max: 700 }),
        fc.nat(0xffffffff),
        fc.nat(0xffffffff),
        fc.double({ noNaN: true, min: 0 }),
        (bytes, enqueuer, sequence, sentAtMs) => {
          const codec = new PayloadCodec({ bytes, seed: 3, nonce: 0xfedcba98 });
          const payload = codec.make({ enqueuer, sequence, sentAtMs });
          expect(codec.check(payload)).toEqual({ enqueuer, sequence, sentAtMs });
          expect(payload.readUInt32LE(bytes - 4)).toBe(crc32(payload.subarray(0, bytes - 4)));
        },
      ),
    );
  });

  test('must be large enough for its header', () => {
    expect(() => new PayloadCodec({ bytes: payloadHeaderBytes - 1, seed: 1, nonce: 1 })).toThrow(RangeError);
  });
});
