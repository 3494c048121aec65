/** Passes over the parts of a JSON text without building anything of them. Positions are UTF-16 units. */

const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const backslash = 0x5c;
const isSpace = (char: number) => char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09;
const isDigit = (char: number) => char >= 0x30 && char <= 0x39;

/** UTF-16 units of the characters that give JSON its structure. */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/** Whether a text is JSON. Builds nothing of it, so that it may be a payload of any depth. */
export function isJsonText(text: string): boolean {
  try {
    return skipSpace(text, passJson(text, skipSpace(text, 0))) === text.length;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** The end of the JSON value that starts at `start`. It has its own stack: payloads may be nested as deep as they are long. */
export function passJson(text: string, start: number): number {
  /** Of each open container, whether it is an object. */
  const open: boolean[] = [];
  let at = start;
  for (;;) {
    const char = text.charCodeAt(at);
    const isObject = char === openBrace;
    if (isObject || char === openBracket) {
      at = skipSpace(text, at + 1);
      if (text.charCodeAt(at) !== (isObject ? closeBrace : closeBracket)) {
        open.push(isObject);
        if (isObject) at = passName(text, at);
        continue;
      }
      at += 1;
    } else if (char === quote) at = passText(text, at);
    else at = passLiteral(text, at, char);
    for (;;) {
      if (open.length === 0) return at;
      at = skipSpace(text, at);
      const inObject = open[open.length - 1] === true;
      const next = text.charCodeAt(at);
      if (next === comma) {
        at = skipSpace(text, at + 1);
        if (inObject) at = passName(text, at);
        break;
      }
      if (next !== (inObject ? closeBrace : closeBracket)) throw unexpected(text, at);
      open.pop();
      at += 1;
    }
  }
}

/** Returns the start of the member's value. */
function passName(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote) throw unexpected(text, start);
  const at = skipSpace(text, passText(text, start));
  if (text.charCodeAt(at) !== colon) throw unexpected(text, at);
  return skipSpace(text, at + 1);
}

const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Characters from which `JSON.parse` is faster, although it makes a string. */
const longTextUnits = 48;

function passText(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end - start > longTextUnits) return passLongText(text, start);
  for (let at = start + 1; ; ) {
    const char = text.charCodeAt(at);
    if (char === quote) return at + 1;
    if (char === backslash) {
      escapeSequence.lastIndex = at;
      if (!escapeSequence.test(text)) throw unexpected(text, at);
      at = escapeSequence.lastIndex;
    } else if (char >= 0x20) at += 1;
    else throw unexpected(text, at); // a control character, or past the end, where it is NaN
  }
}

function passLongText(text: string, start: number): number {
  const end = passUncheckedText(text, start);
  JSON.parse(text.slice(start, end));
  return end;
}

const literals: readonly string[] = ['true', 'false', 'null'];

function passLiteral(text: string, start: number, char: number): number {
  if (char !== minus && !isDigit(char)) {
    const literal = literals.find((each) => text.startsWith(each, start));
    if (literal === undefined) throw unexpected(text, start);
    return start + literal.length;
  }
  let at = char === minus ? start + 1 : start;
  at = text.charCodeAt(at) === zero ? at + 1 : passDigits(text, at);
  if (text.charCodeAt(at) === dot) at = passDigits(text, at + 1);
  if ((text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charCodeAt(at + 1);
    at = passDigits(text, sign === minus || sign === 0x2b ? at + 2 : at + 1);
  }
  return at;
}

/** At least one. */
function passDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  if (at === start) throw unexpected(text, at);
  return at;
}

/** `JSON.parse` checks the text afterwards, so only its end is searched, with the engine's own search. */
export function passUncheckedText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  throw unexpected(text, text.length);
}

/** `JSON.parse` checks it afterwards. */
export function passUncheckedLiteral(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === comma || char === closeBracket || char === closeBrace || isSpace(char)) break;
  }
  if (at === start) throw unexpected(text, at);
  return at;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

export const unexpected = (text: string, at: number) =>
  new SyntaxError(at >= text.length ? 'The text ends within a value' : `Unexpected character at ${at}`);
