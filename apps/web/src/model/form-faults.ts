/** Assigns the server's faults about a refused form to its fields. */
import type { Fault } from '@shardlab/contract';

/** An error of the server; `ApiError` is one. */
interface Refusal extends Error {
  code: string;
  details: Readonly<Record<string, unknown>>;
}

export interface FormField {
  /** The server's names for the field, if they differ from its own. */
  names?: readonly string[];
  /** Errors that are about this field though they name none. */
  codes?: readonly string[];
}

/** The fields of a form in the order in which they are shown. */
export type FormFields<Name extends string> = Readonly<Record<Name, FormField>>;

export interface PlacedFaults<Name extends string> {
  /** One sentence for each field that is at fault. */
  byField: ReadonlyMap<Name, string>;
  /** The error, if it says something that is about none of the fields. */
  rest: Error | null;
}

const isRefusal = (error: Error): error is Refusal => 'code' in error && 'details' in error;

export function placeFaults<Name extends string>(
  error: Error | null,
  fields: FormFields<Name>,
): PlacedFaults<Name> {
  const byField = new Map<Name, string>();
  if (error === null || !isRefusal(error)) return { byField, rest: error };
  let rest: Error | null = null;
  for (const { name, sentence } of faultsOf(error)) {
    const field = fieldOf(fields, name, error.code);
    if (field === undefined) rest = error;
    else if (!byField.has(field)) byField.set(field, sentence);
  }
  return { byField, rest };
}

function fieldOf<Name extends string>(fields: FormFields<Name>, name: string | undefined, code: string) {
  const all = Object.entries(fields) as [Name, FormField][];
  const named = all.find(([own, { names = [own] }]) => name !== undefined && names.includes(name));
  return (named ?? all.find(([, { codes = [] }]) => codes.includes(code)))?.[0];
}

/** Each fault with the server's name of the value; undefined if it names none. */
function faultsOf({ code, message, details }: Refusal): { name: string | undefined; sentence: string }[] {
  if (code === 'REQUEST_INVALID' && Array.isArray(details.errors))
    return (details.errors as Fault[]).map((fault) => ({
      name: nameAt(fault.path),
      sentence: fault.message,
    }));
  if (Array.isArray(details.fields))
    return (details.fields as string[]).map((path) => ({ name: nameAt(path), sentence: message }));
  const name = details.field ?? details.option;
  return [{ name: typeof name === 'string' ? name : undefined, sentence: message }];
}

/** The field that a JSON pointer leads to, or into: `payload` of `/messages/3/payload/items`. */
function nameAt(pointer: string): string | undefined {
  const [first, index, field] = pointer.split('/').slice(1);
  return first === 'messages' && index !== undefined && field !== undefined ? field : first;
}
