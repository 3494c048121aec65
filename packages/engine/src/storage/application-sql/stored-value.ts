/** Values of SQLite as text, exactly: a tag for the type, then the value. Equal texts are values that SQLite finds equal. */
import type { SqlValue } from '../../api/sql.ts';

/** `n` null, `i` integer, `r` real, `t` text, `b` blob; text and blobs in base64, so that any bytes survive. */
export type StoredValue = string;

/** `type` is the result of SQL's `typeof`. A text is passed as its bytes. */
export function toStoredValue(value: SqlValue, type: string): StoredValue {
  if (typeof value === 'bigint') return `i${value}`;
  if (typeof value === 'number') return `r${realText(value)}`;
  if (value === null) return 'n';
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value);
  return `${type === 'text' ? 't' : 'b'}${bytes.toString('base64')}`;
}

/** Formats a real with enough digits to be read back as the same number. */
function realText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Returns the value to bind, and its expression in a statement. */
export function fromStoredValue(stored: StoredValue): { expression: string; value: SqlValue } {
  const rest = stored.slice(1);
  switch (stored[0]) {
    case 'i':
      return { expression: '?', value: BigInt(rest) };
    case 'r':
      return { expression: '?', value: Number(rest) };
    case 't':
      return { expression: 'CAST(? AS TEXT)', value: Buffer.from(rest, 'base64') };
    case 'b':
      return { expression: '?', value: Buffer.from(rest, 'base64') };
    default:
      return { expression: '?', value: null };
  }
}

/** Encodes a value as a part of a key. In a key SQLite treats 1 and 1.0 as equal. */
export function keyPart(value: SqlValue): string {
  if (typeof value === 'number' && Number.isInteger(value)) return `i${BigInt(value)}`;
  return toStoredValue(value, typeof value === 'string' ? 'text' : 'blob');
}
