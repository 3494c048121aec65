/** Reads single fields of a record without decoding it, and copies a record with an id. */
import {
  hasCorrelationId,
  hasDueAt,
  hasGroupKey,
  hasId,
  hasPriority,
  hasProperties,
  hasRecipients,
  readRecipients,
  recordBytesMin,
  recordEnd,
  variableFieldsStart,
} from './message-record.ts';
import type { MessageName } from './trace-events.ts';

/** Character codes of an id, which is digits, a dot and digits. */
const zero = 48;
const dot = 46;
/** Fields that do not decide where the message goes: a record with only these can be copied unchanged. */
const nonRoutingFlags = hasCorrelationId | hasProperties;
/** Fields that an enqueue can set; the id comes from the instance. */
const enqueueFlags = nonRoutingFlags | hasGroupKey | hasRecipients | hasPriority | hasDueAt;

/** Whether nothing in the record decides where its message goes: no key, priority, delay, recipients or id. */
export function hasNoRoutingFields(source: Buffer, start: number): boolean {
  return (source[start + 4]! & ~nonRoutingFlags) === 0;
}

/** Whether an enqueue could have made a record of these flags. */
export function hasOnlyEnqueueFlags(source: Buffer, start: number): boolean {
  return (source[start + 4]! & ~enqueueFlags) === 0;
}

/** Copies a record with the id that it keeps from now on, unless it has one; returns where the copy ends. */
export function copyWithId(
  source: Buffer,
  start: number,
  { target, at, id }: { target: Buffer; at: number; id(): string },
): number {
  const flags = source[start + 4]!;
  const end = recordEnd(source, start);
  if (flags & hasId) return at + source.copy(target, at, start, end);
  const idAt = start + recordBytesMin + (flags & hasPriority ? 1 : 0) + (flags & hasDueAt ? 8 : 0);
  let to = at + source.copy(target, at, start, idAt);
  const bytes = target.write(id(), to + 2);
  to = target.writeUInt16LE(bytes, to) + bytes;
  to += source.copy(target, to, idAt, end);
  target.writeUInt32LE(to - at, at);
  target[at + 4] = flags | hasId;
  return to;
}

/** Reads the id in the record, as numbers; undefined if the id follows from the record's log and sequence number. */
export function readName(source: Buffer, start: number): MessageName | undefined {
  const flags = source[start + 4]!;
  if ((flags & hasId) === 0) return undefined;
  let at = start + recordBytesMin + (flags & hasPriority ? 1 : 0) + (flags & hasDueAt ? 8 : 0);
  const end = at + 2 + source.readUInt16LE(at);
  at += 2;
  let logId = 0;
  for (; at < end && source[at] !== dot; at += 1) logId = logId * 10 + source[at]! - zero;
  let seq = 0;
  for (at += 1; at < end; at += 1) seq = seq * 10 + source[at]! - zero;
  return { logId, seq };
}

/** Whether a subscriber gets the message: it names no recipients, or this one among them. */
export function isAddressedTo(source: Buffer, start: number, subscriber: string): boolean {
  const flags = source[start + 4]!;
  if ((flags & hasRecipients) === 0) return true;
  let at = variableFieldsStart(source, start);
  if (flags & hasCorrelationId) at += 2 + source.readUInt16LE(at);
  if (flags & hasGroupKey) at += 2 + source.readUInt16LE(at);
  if (flags & hasProperties) at += 4 + source.readUInt32LE(at);
  return readRecipients(source, at).includes(subscriber);
}

/** Start and end of the correlation id's bytes; undefined if the message has none. */
export function correlationIdRange(source: Buffer, start: number): readonly [number, number] | undefined {
  if ((source[start + 4]! & hasCorrelationId) === 0) return undefined;
  const at = variableFieldsStart(source, start);
  return [at + 2, at + 2 + source.readUInt16LE(at)];
}
