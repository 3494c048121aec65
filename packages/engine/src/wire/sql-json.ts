/**
 * SQL statements and their results as JSON, without loss. A value that JSON has no literal for, or would change, is an
 * object with one key. A literal beyond 2^53 is refused, because JSON parsers may have rounded it.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { SqlResult, SqlValue } from '../api/sql.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import { parseBoundedJson } from './bounded-json.ts';
import { protocolError } from './protocol.ts';

/** `integer`: decimal digits; `real`: a number as text, or `Infinity`; `base64`: bytes. */
export type SqlValueJson =
  | null
  | number
  | string
  | { integer: string }
  | { real: string }
  | { base64: string };

export function valueToJson(value: SqlValue): SqlValueJson {
  if (typeof value === 'bigint') return { integer: String(value) };
  if (typeof value === 'number') return isJsonLiteral(value) ? value : { real: String(value) };
  if (value instanceof Uint8Array) {
    return { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  }
  return value;
}

/** Throws `SQL_INVALID`. */
export function valueFromJson(json: SqlValueJson): SqlValue {
  if (json === null || typeof json === 'string' || (typeof json === 'number' && isJsonLiteral(json)))
    return json;
  const { integer, real, base64 } = (typeof json === 'object' ? json : {}) as Record<string, unknown>;
  if (typeof integer === 'string' && /^-?\d{1,19}$/.test(integer)) return exactNumber(BigInt(integer));
  if (typeof real === 'string' && /\d|Infinity/.test(real) && !Number.isNaN(Number(real)))
    return Number(real);
  if (typeof base64 === 'string') {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') === base64) return bytes;
  }
  throw new QueueError('SQL_INVALID', {
    message:
      'A value is null, a string, a number whose whole part is within 2^53, {"integer": digits}, {"real": text} or {"base64": bytes}',
  });
}

function isJsonLiteral(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

type RowJson = Record<string, SqlValueJson>;

const valuesToJson = (row: Readonly<Record<string, SqlValue>>): RowJson =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueToJson(value)]));
const valuesFromJson = (row: RowJson): Record<string, SqlValue> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueFromJson(value)]));

interface StatementJson {
  sql: string;
  parameters: SqlValueJson[] | RowJson;
}

export function statementToJson({ sql, parameters }: SqlStatement): string {
  const json: StatementJson = {
    sql,
    parameters: isArray(parameters) ? parameters.map(valueToJson) : valuesToJson(parameters),
  };
  return JSON.stringify(json);
}

/** Statement, text, and for each parameter up to two values: an object and what is in it. */
const statementValuesMax = 8 + 2 * limits.sqlParametersMax;

export function statementFromJson(text: string): SqlStatement {
  const { sql, parameters } = parseBoundedJson<StatementJson>(text, 'A statement', statementValuesMax);
  if (typeof sql !== 'string' || typeof parameters !== 'object' || parameters === null) {
    throw protocolError('A statement has no sql or no parameters');
  }
  return {
    sql,
    parameters: isArray(parameters) ? parameters.map(valueFromJson) : valuesFromJson(parameters),
  };
}

export function resultsToJson(results: readonly SqlResult[]): string {
  const json = results.map(({ rows, changes, lastInsertRowid }) => ({
    rows: rows.map(valuesToJson),
    changes,
    lastInsertRowid: valueToJson(lastInsertRowid),
  }));
  return JSON.stringify(json);
}

export function resultsFromJson(text: string): SqlResult[] {
  const results = parseJson<{ rows: RowJson[]; changes: number; lastInsertRowid: SqlValueJson }[]>(text);
  return results.map(({ rows, changes, lastInsertRowid }) => ({
    rows: rows.map(valuesFromJson),
    changes,
    lastInsertRowid: valueFromJson(lastInsertRowid) as SqlResult['lastInsertRowid'],
  }));
}

function isArray<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}

function parseJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw protocolError('A result is not JSON');
  }
}
