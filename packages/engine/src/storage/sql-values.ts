/** Values between the application and SQLite, which takes every number as a REAL and gives every INTEGER as a bigint. */
import type { SqlParameters, SqlValue } from '../types.ts';

/** A whole number is bound as an INTEGER, so that a column without a type keeps it as one. */
export function toSqlite(parameters: SqlParameters): unknown {
  if (Array.isArray(parameters)) return parameters.map(bind);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, bind(value)]));
}

function bind(value: SqlValue): SqlValue {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

export function fromSqlite(row: Record<string, unknown>): Record<string, SqlValue> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && isExact(value)) row[name] = Number(value);
  }
  return row as Record<string, SqlValue>;
}

function isExact(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}
