/**
 * Statements and their results as JSON, without loss: what JSON has no literal for, or would change, is an object of one
 * key. A number past 2^53 is refused as a literal, since whoever wrote it may have meant another one.
 */
import { QueueError } from '../../core/errors.ts';
import type { SqlStatement } from '../../core/sql-statement.ts';
import type { SqlResult, SqlValue } from '../../types.ts';
import { protocolError } from './protocol.ts';

/** `integer`: digits; `real`: a number as text, `Infinity` too; `base64`: bytes. */
export type SqlValueJson =
  | null
  | number
  | string
  | { integer: string }
  | { real: string }
  | { base64: string };

export function valueToJson(value: SqlValue): SqlValueJson {
  if (typeof value === 'bigint') return { integer: String(value) };
  if (typeof value === 'number') return isLiteral(value) ? value : { real: String(value) };
  if (value instanceof Uint8Array) {
    return { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  }
  return value;
}

/** Throws `SQL_INVALID`. */
export function valueFromJson(json: SqlValueJson): SqlValue {
  if (json === null || typeof json === 'string' || (typeof json === 'number' && isLiteral(json))) return json;
  const { integer, real, base64 } = (typeof json === 'object' ? json : {}) as Record<string, unknown>;
  if (typeof integer === 'string' && /^-?\d{1,19}$/.test(integer)) return exact(BigInt(integer));
  if (typeof real === 'string' && /\d|Infinity/.test(real) && !Number.isNaN(Number(real)))
    return Number(real);
  if (typeof base64 === 'string') {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') === base64) return bytes;
  }
  throw new QueueError('SQL_INVALID', {
    sentence:
      'A value is null, a string, a number whose whole part is within 2^53, {"integer": digits}, {"real": text} or {"base64": bytes}',
  });
}

function isLiteral(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function exact(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

type RowJson = Record<string, SqlValueJson>;

const eachToJson = (row: Readonly<Record<string, SqlValue>>): RowJson =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueToJson(value)]));
const eachFromJson = (row: RowJson): Record<string, SqlValue> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueFromJson(value)]));

interface StatementJson {
  sql: string;
  parameters: SqlValueJson[] | RowJson;
}

export function statementToJson({ sql, parameters }: SqlStatement): string {
  const json: StatementJson = {
    sql,
    parameters: isList(parameters) ? parameters.map(valueToJson) : eachToJson(parameters),
  };
  return JSON.stringify(json);
}

export function statementFromJson(text: string): SqlStatement {
  const { sql, parameters } = parse<StatementJson>(text);
  if (typeof sql !== 'string' || typeof parameters !== 'object' || parameters === null) {
    throw protocolError('A statement is not one');
  }
  return { sql, parameters: isList(parameters) ? parameters.map(valueFromJson) : eachFromJson(parameters) };
}

export function resultsToJson(results: readonly SqlResult[]): string {
  const json = results.map(({ rows, changes, lastInsertRowid }) => ({
    rows: rows.map(eachToJson),
    changes,
    lastInsertRowid: valueToJson(lastInsertRowid),
  }));
  return JSON.stringify(json);
}

export function resultsFromJson(text: string): SqlResult[] {
  const results = parse<{ rows: RowJson[]; changes: number; lastInsertRowid: SqlValueJson }[]>(text);
  return results.map(({ rows, changes, lastInsertRowid }) => ({
    rows: rows.map(eachFromJson),
    changes,
    lastInsertRowid: valueFromJson(lastInsertRowid) as SqlResult['lastInsertRowid'],
  }));
}

function isList<T>(of: readonly T[] | object): of is readonly T[] {
  return Array.isArray(of);
}

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw protocolError('A statement or its results are not JSON');
  }
}
