/** Looks at records that came from outside: a damaged one must not reach a partition, nor whoever dequeues it. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { type RecordFields, readRecord, recordBytes } from './message-record.ts';

const headerBytes = 13;

/** Where the record that starts at `start` ends. Throws `PROTOCOL_INVALID`, or what `recordBytes` throws of a message. */
export function checkRecord(source: Buffer, start: number, end: number): number {
  if (end - start < headerBytes) throw damaged();
  const length = source.readUInt32LE(start);
  if (length < headerBytes || length > end - start) throw damaged();
  const flags = source[start + 4]!;
  if (flags !== 0 || length - headerBytes > limits.payloadBytesMax) checkFields(source, start, length);
  return start + length;
}

/** A record says what it holds if what is read from it makes a record of the same length. */
function checkFields(source: Buffer, start: number, length: number): void {
  let fields: RecordFields;
  try {
    fields = readRecord(source.subarray(0, start + length), start);
  } catch {
    throw damaged(); // a length inside points beyond its end, or the properties are no JSON
  }
  if (recordBytes(fields) !== length) throw damaged();
}

function damaged(): QueueError {
  return new QueueError('PROTOCOL_INVALID', { sentence: 'A message does not have the form of one' });
}
