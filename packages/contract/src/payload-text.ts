/**
 * Payloads of messages inside a JSON text, as they are written there. `JSON.parse` alone would round large numbers, and
 * would lose repeated members, their order and white space. Both the server and the dashboard keep the text instead.
 */

/** A JSON value as its text. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Where to find texts in a value: the value itself, its items, or some of its members. */
type Shape = 'text' | { each: Shape } | { members: Readonly<Record<string, Shape>> };

/** The found texts: one text, or those of items and members by index or name. */
type Found = JsonText | Map<string | number, Found>;

const messages: Shape = { each: { members: { payload: 'text' } } };
/** Payloads of a message list, enqueued or delivered, and of a transaction. */
const payloads: Shape = { members: { messages, enqueue: { each: { members: { messages } } } } };

/** Like `JSON.parse`, but the payload of each message is a `JsonText`. Linear in the text. Throws `SyntaxError`. */
export function parseKeepingPayloads(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Payloads as base64 leave nothing to find: the scan would cost as much as the rest.
  if (!hasTexts(value, payloads)) return value;
  const { found } = new Scanner(text).scan(0, payloads);
  if (found !== undefined) replace(value as object, found);
  return value;
}

/** Whether a parsed value has something that is to stay text. */
function hasTexts(value: unknown, shape: Shape): boolean {
  if (shape === 'text') return true;
  if ('each' in shape) return Array.isArray(value) && value.some((item) => hasTexts(item, shape.each));
  if (typeof value !== 'object' || value === null) return false;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in shape.members) {
    if (Object.hasOwn(members, name) && hasTexts(members[name], shape.members[name]!)) return true;
  }
  return false;
}

/** The text of an object of which some members are `JsonText`. Other members are as `JSON.stringify` writes them. */
export function stringifyWithTexts(object: Readonly<Record<string, unknown>>): string {
  const values = Object.values(object);
  if (!values.some((value) => value instanceof JsonText)) return JSON.stringify(object);
  let text = '';
  for (const [name, value] of Object.entries(object)) {
    const written = value instanceof JsonText ? value.text : JSON.stringify(value);
    if (written !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${written}`;
  }
  return `{${text}}`;
}

function replace(value: object, found: Found): void {
  if (found instanceof JsonText) return;
  const members = value as Record<string | number, unknown>;
  for (const [name, inner] of found) {
    if (inner instanceof JsonText) members[name] = inner;
    else replace(members[name] as object, inner);
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const isSpace = (char: number) => char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09;

/** Reads a text that `JSON.parse` has accepted, and therefore checks nothing. Positions are UTF-16 units. */
class Scanner {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** `end` is past the value that starts at `from`, or behind white space there. */
  scan(from: number, shape: Shape | undefined): { end: number; found: Found | undefined } {
    const start = this.#skipSpace(from);
    const char = this.#text.charCodeAt(start);
    if (shape === 'text') {
      const end = this.#skipValue(start);
      return { end, found: new JsonText(this.#text.slice(start, end)) };
    }
    if (shape !== undefined && 'each' in shape && char === openBracket)
      return this.#scanArray(start, shape.each);
    if (shape !== undefined && 'members' in shape && char === openBrace) {
      return this.#scanObject(start, shape.members);
    }
    return { end: this.#skipValue(start), found: undefined };
  }

  #scanArray(start: number, shape: Shape): { end: number; found: Found | undefined } {
    const found = new Map<number, Found>();
    let at = this.#skipSpace(start + 1);
    for (let index = 0; this.#text.charCodeAt(at) !== closeBracket; index += 1) {
      const item = this.scan(at, shape);
      if (item.found !== undefined) found.set(index, item.found);
      at = this.#skipComma(item.end);
    }
    return { end: at + 1, found };
  }

  #scanObject(
    start: number,
    shapes: Readonly<Record<string, Shape>>,
  ): { end: number; found: Found | undefined } {
    const found = new Map<string, Found>();
    let at = this.#skipSpace(start + 1);
    while (this.#text.charCodeAt(at) !== closeBrace) {
      const nameEnd = this.#skipString(at);
      const name = JSON.parse(this.#text.slice(at, nameEnd)) as string;
      const colon = this.#skipSpace(nameEnd);
      const member = this.scan(colon + 1, Object.hasOwn(shapes, name) ? shapes[name] : undefined);
      // Of members with the same name the last one counts, as for JSON.parse.
      if (member.found !== undefined) found.set(name, member.found);
      else found.delete(name);
      at = this.#skipComma(member.end);
    }
    return { end: at + 1, found };
  }

  #skipValue(start: number): number {
    const char = this.#text.charCodeAt(start);
    if (char === quote) return this.#skipString(start);
    if (char === openBracket || char === openBrace) return this.#skipContainer(start);
    let at = start + 1;
    while (at < this.#text.length && !this.#endsLiteral(this.#text.charCodeAt(at))) at += 1;
    return at;
  }

  #endsLiteral(char: number): boolean {
    return char === comma || char === closeBracket || char === closeBrace || isSpace(char);
  }

  /** Counts brackets instead of calling itself: a payload may be nested as deep as it is long. */
  #skipContainer(start: number): number {
    const text = this.#text;
    let at = start + 1;
    for (let depth = 1; depth > 0; ) {
      const char = text.charCodeAt(at);
      if (char === quote) at = this.#skipString(at);
      else {
        if (char === openBracket || char === openBrace) depth += 1;
        else if (char === closeBracket || char === closeBrace) depth -= 1;
        at += 1;
      }
    }
    return at;
  }

  #skipString(start: number): number {
    const text = this.#text;
    // The engine's own search passes many characters at once.
    for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
      let backslashes = 0;
      while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
      if (backslashes % 2 === 0) return end + 1;
    }
  }

  #skipSpace(from: number): number {
    let at = from;
    while (isSpace(this.#text.charCodeAt(at))) at += 1;
    return at;
  }

  /** Past the comma behind a value, if there is one, and white space. */
  #skipComma(from: number): number {
    const at = this.#skipSpace(from);
    return this.#text.charCodeAt(at) === comma ? this.#skipSpace(at + 1) : at;
  }
}
