/**
 * A history as text: JSON lines. An operation has a line when it is attempted, `{id, process, type, start, …}`, and another
 * one when it ends, `{id, end, outcome, …}`. The lines of one id are merged, in this order. An operation without an outcome
 * is `unknown`. A last line without a line feed was cut off and is ignored: what it announces did not happen.
 */
import { type Operation, operationTypes } from './operation.ts';

export class HistoryError extends Error {
  override name = 'HistoryError';
}

/** Throws a `HistoryError` that names the line. */
export function parseHistory(text: string): Operation[] {
  const lines = text.split('\n');
  lines.pop();
  return mergeLines(lines);
}

/** The same from complete lines. */
export function mergeLines(lines: Iterable<string>): Operation[] {
  const merged = new Map<string, Record<string, unknown>>();
  let number = 0;
  for (const line of lines) {
    number += 1;
    if (line === '') continue;
    const part = parseLine(line, number);
    const id = part.id as string;
    const known = merged.get(id);
    if (known === undefined) merged.set(id, part);
    else Object.assign(known, part);
  }
  return [...merged.values()].map(complete);
}

function parseLine(line: string, number: number): Record<string, unknown> {
  let part: unknown;
  try {
    part = JSON.parse(line);
  } catch {
    throw new HistoryError(`line ${number} is not JSON: ${line.slice(0, 80)}`);
  }
  if (typeof part !== 'object' || part === null || typeof (part as { id?: unknown }).id !== 'string')
    throw new HistoryError(`line ${number} has no id: ${line.slice(0, 80)}`);
  return part as Record<string, unknown>;
}

/** Adds what an attempt leaves open. */
function complete(parts: Record<string, unknown>): Operation {
  const { id, type, start } = parts;
  if (!(operationTypes as readonly unknown[]).includes(type))
    throw new HistoryError(`operation ${id} has no known type: ${String(type)}`);
  if (typeof start !== 'number') throw new HistoryError(`operation ${id} has no start`);
  const lists = { transaction: ['enqueues', 'consumes'], delivery: ['messages'] } as Record<string, string[]>;
  for (const list of lists[type as string] ?? []) parts[list] ??= [];
  parts.outcome ??= 'unknown';
  parts.end ??= Number.POSITIVE_INFINITY;
  return parts as unknown as Operation;
}
