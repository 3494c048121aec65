import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecentRecords } from '../../src/storage/unsharded/recent-records.ts';

const windowBytes = 8 * 1024 * 1024;

it('has the records of the last eight MiB that were not deleted, for rows with their checksum', () => {
  const record = fc.record({ bytes: fc.integer({ min: 1, max: 3 * 1024 * 1024 }), isDeleted: fc.boolean() });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), (added) => {
      const recent = new RecentRecords();
      for (const [id, { bytes, isDeleted }] of added.entries()) {
        recent.add(id, id + 7, { byteLength: bytes } as Buffer);
        if (isDeleted) recent.delete(id);
      }
      let behind = 0;
      let size = 0;
      for (const [id, { bytes, isDeleted }] of [...added.entries()].reverse()) {
        const isThere = !isDeleted && behind < windowBytes;
        if (isThere) size += 1;
        expect(recent.find(id, id + 7)?.byteLength).toBe(isThere ? bytes : undefined);
        expect(recent.find(id, id)).toBeUndefined();
        behind += bytes;
      }
      expect(recent.size).toBe(size);
    }),
  );
});
