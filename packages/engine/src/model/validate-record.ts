/** Checks records that came from outside: a damaged one must reach neither a partition nor a consumer. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { hasOnlyEnqueueFlags } from './inspect-record.ts';
import { idBytesMax, type RecordFields, readRecord, recordBytesMin } from './message-record.ts';
import { recordBytes } from './session-calls.ts';

/** Validates the record that starts at `start` and returns its end. Throws `PROTOCOL_INVALID`, and as `recordBytes`. */
export function validateRecord(source: Buffer, start: number, end: number): number {
  if (end - start < recordBytesMin) throw invalidRecordError();
  const length = source.readUInt32LE(start);
  if (length < recordBytesMin || length > end - start) throw invalidRecordError();
  const bare = source[start + 4] === 0;
  if (!bare || length - recordBytesMin > limits.payloadBytesMax) validateFields(source, start, length);
  return start + length;
}

/** Reads the record and encodes it again: only a well-formed record has the same length both times. */
function validateFields(source: Buffer, start: number, length: number): void {
  if (!hasOnlyEnqueueFlags(source, start)) throw invalidRecordError();
  let fields: RecordFields;
  try {
    fields = readRecord(source.subarray(0, start + length), start);
  } catch {
    throw invalidRecordError(); // a length inside points beyond its end, or the properties are no JSON
  }
  const roomForId = fields.delayMs === undefined ? 0 : 2 + idBytesMax;
  if (recordBytes(fields) - roomForId !== length) throw invalidRecordError();
}

function invalidRecordError(): QueueError {
  return new QueueError('PROTOCOL_INVALID', { message: 'A message of the request is malformed' });
}
