/**
 * What a caller passes: fields that a call does not know, required arguments that are missing or empty, and values of another type.
 * TypeScript refuses most of it where it is written; a program in JavaScript, and an object that was put together elsewhere, get
 * the same refusal here, with the name of the field and of those that exist.
 */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';

/** `any`: the place that uses the field checks its value. */
type Kind = keyof typeof kindsInWords | 'any';

const kindsInWords = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  function: 'a function',
  signal: 'an AbortSignal',
} as const;

type KindOf<Value> = [Value] extends [string]
  ? 'string' | 'any'
  : [Value] extends [number]
    ? 'number' | 'any'
    : [Value] extends [boolean]
      ? 'boolean'
      : [Value] extends [(...args: never[]) => unknown]
        ? 'function'
        : [Value] extends [AbortSignal]
          ? 'signal'
          : 'any';

/** All fields of a type: the compiler refuses a table that lacks one or has another. */
export type FieldTable<T> = { readonly [Name in keyof T]-?: KindOf<NonNullable<T[Name]>> };

export interface Fields {
  /** How errors call what has these fields: "dequeue", "A message". */
  readonly owner: string;
  readonly code: QueueErrorCode;
  readonly kinds: ReadonlyMap<string, Kind>;
}

/** Declares the fields of options or of another object that callers pass. */
export function fieldsOf<T>(
  owner: string,
  table: FieldTable<T>,
  code: QueueErrorCode = 'OPTIONS_INVALID',
): Fields {
  return { owner, code, kinds: new Map(Object.entries<Kind>(table)) };
}

/**
 * Throws the code of the fields for what is no object, has a field besides these, or a value of another type. It is on the way of
 * each message: one lookup a field.
 */
export function assertFields(given: object, fields: Fields): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw notAnObject(given, fields);
  const { kinds } = fields;
  for (const name in given) {
    const kind = kinds.get(name);
    if (kind === 'any') continue;
    const value = given[name as keyof typeof given] as unknown;
    if (kind === undefined) {
      // A field that a library adds to all objects is none of the caller's.
      if (Object.hasOwn(given, name)) throw unknownField(name, fields);
    } else if (value !== undefined && !isOfKind(value, kind)) throw wrongKind(name, kind, value, fields);
  }
}

/** Throws `OPTIONS_INVALID` for a name or path that is missing, empty or no string. */
export function assertName(argument: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && value !== '') return;
  throw invalidArgument(argument, 'a string that is not empty', value);
}

export function assertFunction(argument: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidArgument(argument, 'a function', value);
}

/** Throws `OPTIONS_INVALID` unless the value is an array of strings, which may be empty. */
export function assertTexts(argument: string, value: unknown): void {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return;
  throw invalidArgument(argument, 'an array of strings', value);
}

/** `needed` completes "<argument> must be …". */
export function invalidArgument(argument: string, needed: string, value: unknown): QueueError {
  return new QueueError('OPTIONS_INVALID', {
    message: `${argument} must be ${needed}, not ${inWords(value)}`,
    details: { option: argument },
  });
}

function notAnObject(given: unknown, { owner, code, kinds }: Fields): QueueError {
  return new QueueError(code, {
    message: `${owner} takes an object with ${listed(kinds)}, not ${inWords(given)}`,
    details: { fields: [...kinds.keys()] },
  });
}

function unknownField(name: string, { owner, code, kinds }: Fields): QueueError {
  return new QueueError(code, {
    message: `${owner} has no ${wordOf(code)} ${name}; it has ${listed(kinds)}`,
    details: { [wordOf(code)]: name, fields: [...kinds.keys()] },
  });
}

function isOfKind(value: unknown, kind: keyof typeof kindsInWords): boolean {
  return kind === 'signal' ? value instanceof AbortSignal : typeof value === kind;
}

function wrongKind(
  name: string,
  kind: keyof typeof kindsInWords,
  value: unknown,
  { owner, code }: Fields,
): QueueError {
  return new QueueError(code, {
    message: `${owner}: ${name} must be ${kindsInWords[kind]}, not ${inWords(value)}`,
    details: { [wordOf(code)]: name },
  });
}

const wordOf = (code: QueueErrorCode) => (code === 'OPTIONS_INVALID' ? 'option' : 'field');

const listed = (kinds: Fields['kinds']) => [...kinds.keys()].join(', ');

/** The type alone of what may be long, or secret. */
function inWords(value: unknown): string {
  if (value === '') return 'an empty string';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty array' : `an array with ${inWords(value[0])}`;
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  const kind = typeof value;
  return kind === 'object' ? 'an object' : `a ${kind}`;
}
