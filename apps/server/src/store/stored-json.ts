/**
 * The only reader of what this server has stored as JSON: run history, uploaded scenarios, samples of queues. A disk, a person or an
 * older version may have changed it, so a text that is too long, is no JSON or does not fit the contract is `damage`, said in words,
 * and never an exception: one row that cannot be read must not keep the others from their readers. It has no state, so any thread can
 * call it.
 */
import { findFaults } from '@shardlab/contract';
import { limits } from '../limits.ts';

/** A value, or why there is none: the rest of a sentence that names the row. */
export type Stored<T> = { value: T; damage?: never } | { value?: never; damage: string };

/** Parses a text and compares it with a schema of the contract. */
export function readStored<T>(text: string, schema: object): Stored<T> {
  const parsed = parseStored(text);
  return parsed.damage === undefined ? checkStored<T>(parsed.value, schema) : parsed;
}

/** Parses a text of up to `limits.storedTextMax` UTF-16 units. */
export function parseStored(text: string): Stored<unknown> {
  if (text.length > limits.storedTextMax) return { damage: `has ${text.length} characters` };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { damage: 'is not JSON' };
  }
}

/** Fields that the contract does not have are no damage: another version wrote them, and no reader looks at them. */
export function checkStored<T>(value: unknown, schema: object): Stored<T> {
  const fault = findFaults(schema, value).faults.find(({ keyword }) => keyword !== 'additionalProperties');
  if (fault === undefined) return { value: value as T };
  return { damage: `does not fit: ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}` };
}
