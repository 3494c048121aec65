/**
 * What a redo log claims of itself. A log ends at the first record that is not whole, and the end of what was written when the power
 * failed looks like damage in the middle. The difference is in the records behind it: each says through which group the log was synced
 * when it was written. So a whole record anywhere in the segments, of whichever turn and behind whatever header, that says this of a
 * group behind the end proves that the end is damage, and that commits are missing.
 */
import { QueueError } from '../../api/errors.ts';
import { formatGroupNumber } from '../../model/group-number.ts';
import type { GroupNumber } from '../../model/ids.ts';
import {
  firstRecordOffset,
  hasCrc,
  type RecordPlace,
  readRecordHeader,
  recordHeaderBytes,
  stepBytes,
} from './record.ts';
import { type OpenSegment, readSegment } from './segment-files.ts';

/** The highest group that a whole record says was synced; 0 if there is no whole record. Reads all of every segment. */
export function highestClaim(logId: Uint8Array, segments: readonly OpenSegment[]): GroupNumber {
  let highest = 0;
  for (const segment of segments) {
    const bytes = Buffer.alloc(segment.bytes);
    readSegment(segment, bytes, 0);
    highest = Math.max(highest, claimIn(bytes, { logId, segment: segment.number }));
  }
  return highest;
}

function claimIn(bytes: Buffer, place: Omit<RecordPlace, 'offset'>): GroupNumber {
  let highest = 0;
  for (let offset = firstRecordOffset; offset + recordHeaderBytes <= bytes.length; offset += stepBytes) {
    const header = readRecordHeader(bytes.subarray(offset), bytes.length - offset);
    if (header === undefined || header.syncedThrough <= highest) continue;
    const record = bytes.subarray(offset, offset + recordHeaderBytes + header.contentBytes);
    if (hasCrc(record, { ...place, offset }, header)) highest = header.syncedThrough;
  }
  return highest;
}

/** Throws `COMMITS_MISSING` if a record proves that groups behind `end` had been synced. */
export function assertClaimMet(path: string, claimed: GroupNumber, end: GroupNumber): void {
  if (claimed <= end) return;
  throw new QueueError('COMMITS_MISSING', {
    message:
      `The redo log of ${path} ends with group ${formatGroupNumber(end)}, and a later record says that it was synced through ` +
      `group ${formatGroupNumber(claimed)}: it is damaged`,
    details: { path, found: end, acknowledged: claimed },
  });
}
