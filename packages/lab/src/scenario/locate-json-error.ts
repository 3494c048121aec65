/**
 * Finds the position at which a text stops being JSON. `JSON.parse` reports a position only for some errors, so this
 * scanner runs after it refused a text. It has its own stack, so that deep nesting cannot overflow the call stack.
 */
import { visibleText } from '@shardlab/contract';

export interface JsonSyntaxError {
  /** Both count from 1. */
  line: number;
  column: number;
  message: string;
}

const space = /[ \t\n\r]*/y;
// A string contains any characters from the space on; quotes and backslashes must be escaped.
const key = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const scalar = new RegExp(
  `${key.source}|-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|true|false|null`,
  'uy',
);

type Expect = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'end';

const inWords: Record<Expect, string> = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  key: 'a field name in double quotes',
  'key or }': 'a field name in double quotes or "}"',
  ':': '":" after the field name',
  ', or ]': '"," or "]"',
  ', or }': '"," or "}"',
  end: 'nothing more',
};

/** The first error of a text that `JSON.parse` refuses; null if the text is JSON. */
export function locateJsonError(text: string): JsonSyntaxError | null {
  const open: ('[' | '{')[] = [];
  let at = 0;
  let expect: Expect = 'value';

  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  const afterValue = (): Expect => {
    const container = open.at(-1);
    return container === undefined ? 'end' : container === '[' ? ', or ]' : ', or }';
  };

  for (;;) {
    match(space);
    const char = text[at];
    if (char === undefined) return expect === 'end' ? null : syntaxErrorAt(text, at, expect);
    const next = step(char);
    if (next === null) return syntaxErrorAt(text, at, expect);
    expect = next;
  }

  function step(char: string): Expect | null {
    switch (expect) {
      case 'value':
      case 'value or ]':
        if (char === '[' || char === '{') {
          open.push(char);
          at += 1;
          return char === '[' ? 'value or ]' : 'key or }';
        }
        if (char === ']' && expect === 'value or ]') return close();
        return match(scalar) ? afterValue() : null;
      case 'key':
      case 'key or }':
        if (char === '}' && expect === 'key or }') return close();
        return match(key) ? ':' : null;
      case ':':
        return char === ':' ? take('value') : null;
      case ', or ]':
        return char === ',' ? take('value') : char === ']' ? close() : null;
      case ', or }':
        return char === ',' ? take('key') : char === '}' ? close() : null;
      case 'end':
        return null;
    }
  }
  function take(next: Expect): Expect {
    at += 1;
    return next;
  }
  function close(): Expect {
    at += 1;
    open.pop();
    return afterValue();
  }
}

function syntaxErrorAt(text: string, at: number, expect: Expect): JsonSyntaxError {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  const code = text.codePointAt(at);
  const found =
    code === undefined ? 'the text ends' : `found ${visibleText(JSON.stringify(String.fromCodePoint(code)))}`;
  return {
    line,
    column,
    message: `Not JSON: at line ${line}, column ${column}, expected ${inWords[expect]} but ${found}`,
  };
}
