import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecentRecords } from '../../src/storage/unsharded/recent-records.ts';

const mib = 1024 * 1024;

it('has the records of the last 16 MiB that were not deleted, for rows with their checksum, and none of long ago', () => {
  const record = fc.record({ bytes: fc.integer({ min: 1, max: 3 * mib }), isDeleted: fc.boolean() });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), (added) => {
      const recent = new RecentRecords();
      for (const [id, { bytes, isDeleted }] of added.entries()) {
        recent.add(id, id + 7, { byteLength: bytes } as Buffer);
        if (isDeleted) recent.delete(id);
      }
      let behind = 0;
      let found = 0;
      for (const [id, { bytes, isDeleted }] of [...added.entries()].reverse()) {
        const kept = recent.find(id, id + 7)?.byteLength;
        if (isDeleted || behind >= 35 * mib) expect(kept).toBeUndefined();
        else if (behind + bytes <= 16 * mib) expect(kept).toBe(bytes);
        if (kept !== undefined) found += 1;
        expect(recent.find(id, id)).toBeUndefined();
        behind += bytes;
      }
      expect(recent.size).toBe(found);
    }),
  );
});
