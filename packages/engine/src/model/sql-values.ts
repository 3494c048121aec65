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

export function fromSqliteValue(value: SqlValue): SqlValue {
  return typeof value === 'bigint' && isSafeInteger(value) ? Number(value) : value;
}

/** A row by the names of its columns, all of them own properties: `__proto__` is a column like any other. */
export function fromSqliteRow(
  names: readonly string[],
  values: readonly SqlValue[],
): Record<string, SqlValue> {
  return Object.fromEntries(names.map((name, index) => [name, fromSqliteValue(values[index]!)]));
}

/** Gives columns of the same name the names that SQLite gives them in a subquery: `id`, `id:1`, `id:2`. */
export function distinctColumnNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const lastNumber = new Map<string, number>();
  return names.map((name) => {
    const last = lastNumber.get(name);
    if (last === undefined) {
      lastNumber.set(name, 0);
      return name;
    }
    let number = last + 1;
    while (taken.has(`${name}:${number}`)) number += 1;
    lastNumber.set(name, number);
    const distinct = `${name}:${number}`;
    taken.add(distinct);
    return distinct;
  });
}

function isSafeInteger(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}
