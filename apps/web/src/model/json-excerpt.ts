/** Finds the lines of a JSON text that a JSON pointer names, so that an error can be shown with its context. */

/** A few lines around an error. Line numbers count from 1. */
export interface Excerpt {
  lines: { number: number; text: string }[];
  /** The number of the line with the error. */
  line: number;
}

/**
 * The lines around the value at `pointer` (RFC 6901). If the text has no such value, as for a missing field, the
 * nearest ancestor is taken. Null for invalid JSON: its parser reports a line number, see `excerptOfLine`.
 */
export function excerptAt(text: string, pointer: string, contextLines = 1): Excerpt | null {
  const line = lineAt(text, pointer);
  return line === null ? null : excerptOfLine(text, line, contextLines);
}

/** The number of the line where the value at `pointer` begins, or its nearest ancestor. Null for invalid JSON. */
export function lineAt(text: string, pointer: string): number | null {
  const offsets = offsetsByPointer(text);
  if (offsets === null) return null;
  const parts = pointer.split('/');
  while (parts.length > 1 && !offsets.has(parts.join('/'))) parts.pop();
  const offset = offsets.get(parts.join('/')) ?? 0;
  return text.slice(0, offset).split('\n').length;
}

/** The lines around a line number, which counts from 1. */
export function excerptOfLine(text: string, line: number, contextLines = 1): Excerpt {
  const allLines = text.split('\n');
  const from = Math.max(1, line - contextLines);
  const to = Math.min(allLines.length, line + contextLines);
  const lines = allLines
    .slice(from - 1, to)
    .map((content, index) => ({ number: from + index, text: content }));
  return { lines, line };
}

/** Character offset of every value by pointer: of its key in an object, of the value itself in an array. */
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
    // The text is nested deeper than the call stack allows. No scenario is; the path of the error is still shown.
    return null;
  }
  return offsets;
}
