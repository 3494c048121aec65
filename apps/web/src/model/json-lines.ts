/** Finds the line of a JSON text that a JSON pointer names, so that a fault can be shown where it stands. */

/** A few lines around a fault; `lines` carry numbers counted from 1. */
export interface Excerpt {
  lines: { number: number; text: string }[];
  /** The line of the fault. */
  line: number;
}

/**
 * The excerpt around `pointer` (RFC 6901). A pointer that names nothing in the text, such as a missing field, gives
 * its nearest ancestor that exists. Null for a text that is no JSON: then the parser's own line is the one to show.
 */
export function excerptAt(text: string, pointer: string, around = 1): Excerpt | null {
  const offsets = offsetsByPointer(text);
  if (offsets === null) return null;
  const parts = pointer.split('/');
  while (parts.length > 1 && !offsets.has(parts.join('/'))) parts.pop();
  const offset = offsets.get(parts.join('/')) ?? 0;
  return excerptOfLine(text, text.slice(0, offset).split('\n').length, around);
}

/** The excerpt around a line counted from 1. */
export function excerptOfLine(text: string, line: number, around = 1): Excerpt {
  const all = text.split('\n');
  const from = Math.max(1, line - around);
  const to = Math.min(all.length, line + around);
  const lines = all.slice(from - 1, to).map((content, index) => ({ number: from + index, text: content }));
  return { lines, line };
}

/** Offset of each value's key (or of the value, in an array) by pointer. */
function offsetsByPointer(text: string): Map<string, number> | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const offsets = new Map<string, number>([['', 0]]);
  let at = 0;
  const skip = () => {
    while (/[\s,:]/.test(text[at] ?? '')) at++;
  };
  const string = (): string => {
    const start = at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    return JSON.parse(text.slice(start, ++at)) as string;
  };
  const value = (pointer: string): void => {
    skip();
    const open = text[at];
    if (open === '"') string();
    else if (open === '{' || open === '[') {
      at++;
      for (let index = 0; ; index++) {
        skip();
        if (text[at] === '}' || text[at] === ']') break;
        const start = at;
        const key = open === '{' ? string().replaceAll('~', '~0').replaceAll('/', '~1') : String(index);
        const child = `${pointer}/${key}`;
        offsets.set(child, start);
        value(child);
      }
      at++;
    } else while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at++;
  };
  try {
    value('');
  } catch {
    // Nested deeper than the stack: no scenario is, and the fault's path is still shown.
    return null;
  }
  return offsets;
}
