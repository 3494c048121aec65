/**
 * Checks an application's statement by its text alone, before SQLite compiles it: some `PRAGMA` statements take effect
 * while they are compiled, even under `EXPLAIN`. All else is checked in the compiled program (`sql-program.ts`); what is
 * refused here gets a clearer reason.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { SqlParameters, SqlValue } from '../api/sql.ts';
import type { InstanceId } from './ids.ts';

export interface SqlStatement {
  sql: string;
  parameters: SqlParameters;
}

const rowKeywords = ['SELECT', 'VALUES', 'WITH', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE'] as const;
const schemaKeywords = ['CREATE', 'DROP', 'ALTER'] as const;

/** The keyword that a statement begins with; those of the second kind change the schema. */
export type StatementKeyword = (typeof rowKeywords)[number] | (typeof schemaKeywords)[number];

export function changesSchema(keyword: StatementKeyword): boolean {
  return (schemaKeywords as readonly string[]).includes(keyword);
}

/** Words that may follow `CREATE` and `DROP`. */
const schemaObjects = ['TABLE', 'INDEX', 'UNIQUE', 'VIEW'];

/** Text that SQLite skips between tokens: comments and white space, which includes a byte order mark but not a vertical tab. */
const blankPattern = /^(?:[ \t\n\f\r\uFEFF]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/;

/** Throws `SQL_INVALID` and `SQL_REFUSED`. */
export function keywordOf(sql: string): StatementKeyword {
  if (sql.includes('\0'))
    throw new QueueError('SQL_INVALID', { message: 'A statement must not contain U+0000' });
  const first = nextWord(sql);
  const keyword = first.word as StatementKeyword;
  if ((rowKeywords as readonly string[]).includes(keyword)) return keyword;
  if (!changesSchema(keyword)) {
    throw sqlRefused(first.word === '' ? 'it begins with no keyword' : `${first.word} may not be used here`);
  }
  const { word } = nextWord(first.rest);
  if (keyword === 'ALTER' || schemaObjects.includes(word)) return keyword;
  throw sqlRefused(`${keyword} ${word} may not be used here`);
}

function nextWord(sql: string): { word: string; rest: string } {
  const text = sql.replace(blankPattern, '');
  const word = /^[A-Za-z]+/.exec(text)?.[0] ?? '';
  return { word: word.toUpperCase(), rest: text.slice(word.length) };
}

export function sqlRefused(reason: string, details: Record<string, unknown> = {}): QueueError {
  return new QueueError('SQL_REFUSED', { message: `The statement is refused: ${reason}`, details });
}

export function sqlElsewhere(instance: InstanceId, sqlInstance: InstanceId | undefined): QueueError {
  return new QueueError('SQL_ELSEWHERE', {
    message: `The application's tables are on ${sqlInstance === undefined ? 'no instance yet' : `instance ${sqlInstance}`}`,
    details: { instance, sqlInstance },
  });
}

/**
 * A copy of the statement, with the bytes that it and its parameters take. Throws `SQL_INVALID`, `SQL_REFUSED`,
 * `SQL_TOO_LARGE`.
 */
export function validateStatement(
  sql: string,
  parameters: SqlParameters,
): { statement: SqlStatement; bytes: number } {
  if (typeof sql !== 'string') throw new QueueError('SQL_INVALID', { message: 'A statement is a string' });
  if (sql.length > limits.sqlCharactersMax) {
    throw new QueueError('SQL_TOO_LARGE', {
      details: { characters: sql.length, charactersMax: limits.sqlCharactersMax },
    });
  }
  if (!sql.isWellFormed())
    throw new QueueError('SQL_INVALID', { message: 'A statement must not contain a lone surrogate' });
  keywordOf(sql);
  const count = Object.keys(parameters).length;
  if (count > limits.sqlParametersMax) {
    throw new QueueError('SQL_TOO_LARGE', {
      details: { parameters: count, parametersMax: limits.sqlParametersMax },
    });
  }
  let bytes = sql.length;
  const copy = (value: SqlValue): SqlValue => {
    bytes += valueBytes(value);
    return value instanceof Uint8Array ? Uint8Array.from(value) : value;
  };
  const copied = Array.isArray(parameters)
    ? parameters.map(copy)
    : Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, copy(value)]));
  return { statement: { sql, parameters: copied }, bytes };
}

const integerMax = 2n ** 63n - 1n;
const integerMin = -(2n ** 63n);

/** About what a value takes, bytes. Throws `SQL_INVALID` for what SQLite cannot hold. */
export function valueBytes(value: SqlValue): number {
  if (typeof value === 'string' && value.isWellFormed()) return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (value === null) return 1;
  if (typeof value === 'number' && !Number.isNaN(value)) return 8;
  if (typeof value === 'bigint' && value >= integerMin && value <= integerMax) return 8;
  throw new QueueError('SQL_INVALID', {
    message:
      'A value must be null, a number, a bigint of 64 bits, a string without lone surrogates, or bytes',
  });
}
