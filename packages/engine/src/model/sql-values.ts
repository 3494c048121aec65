/** Values between the application and SQLite, which takes every number as a REAL and gives every INTEGER as a bigint. */
import type { SqlParameters, SqlValue } from '../api/sql.ts';

/** A whole number is bound as an INTEGER, so that a column without a type keeps it as one. */
export function toSqliteParameters(parameters: SqlParameters): unknown {
  if (Array.isArray(parameters)) return parameters.map(toSqliteValue);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, toSqliteValue(value)]));
}

function toSqliteValue(value: SqlValue): SqlValue {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

export function fromSqliteRow(row: Record<string, unknown>): Record<string, SqlValue> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && isSafeInteger(value)) row[name] = Number(value);
  }
  return row as Record<string, SqlValue>;
}

function isSafeInteger(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}
