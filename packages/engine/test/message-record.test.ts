import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import type { NewMessage } from '../src/api/message.ts';
import { readRecord, recordEnd, writeRecord } from '../src/model/message-record.ts';
import { recordBytes } from '../src/model/session-calls.ts';

const message: fc.Arbitrary<NewMessage> = fc.record(
  {
    payload: fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 2_000 })),
    correlationId: fc.string({ unit: 'binary', maxLength: 100 }),
    groupKey: fc.string({ maxLength: 100 }),
    properties: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
  },
  { requiredKeys: ['payload'] },
);

describe('message records', () => {
  it('decode to the encoded messages, one after the other in one buffer', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const buffer = Buffer.alloc(messages.reduce((sum, each) => sum + recordBytes(each), 7));
        let at = 7;
        for (const each of messages) at = writeRecord(buffer, at, each, { enqueuedAtMs: 1_700_000_000_123 });
        let start = 7;
        for (const { payload, ...rest } of messages) {
          const read = readRecord(buffer, start);
          expect(recordEnd(buffer, start) - start).toBe(recordBytes({ payload, ...rest }));
          expect(read.payload).toEqual(Buffer.from(payload as string));
          expect(read).toMatchObject({ ...rest, enqueuedAtMs: 1_700_000_000_123 });
          start = recordEnd(buffer, start);
        }
        expect(start).toBe(at);
      }),
    );
  });

  it('decode to copies: writing to a payload does not change the record', () => {
    const buffer = Buffer.alloc(100);
    writeRecord(buffer, 0, { payload: 'abc' }, { enqueuedAtMs: 1 });
    readRecord(buffer, 0).payload.fill(0);
    expect(readRecord(buffer, 0).payload.toString()).toBe('abc');
  });

  it('refuse an invalid or oversized message, and name the field', () => {
    expect(() => recordBytes({ payload: 7 as never })).toThrow(
      expect.objectContaining({ code: 'MESSAGE_INVALID' }),
    );
    const large = { payload: Buffer.alloc(limits.payloadBytesMax + 1) };
    expect(() => recordBytes(large)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
    expect(() => recordBytes({ payload: '', correlationId: 'é'.repeat(limits.keyBytesMax) })).toThrow(
      expect.objectContaining({
        code: 'MESSAGE_INVALID',
        details: expect.objectContaining({ field: 'correlationId' }),
      }),
    );
    const properties = { note: 'x'.repeat(limits.propertiesBytesMax) };
    expect(() => recordBytes({ payload: '', properties })).toThrow(
      expect.objectContaining({
        code: 'MESSAGE_INVALID',
        details: expect.objectContaining({ field: 'properties' }),
      }),
    );
  });
});
