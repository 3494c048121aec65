/**
 * Reads the structure of a JSON text before anything is built from it, and refuses it at the first excess: too many items where a
 * list has a limit, too many values in all, too deep, or a field that an object has twice. `JSON.parse` would first build
 * everything, a hundred bytes and more for an object of three, and keeps only the last of repeated fields.
 *
 * Positions are UTF-16 units. The cost is linear in what was read; outside of kept texts nothing is read past the excess.
 */

import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  passJson,
  passUncheckedLiteral,
  passUncheckedText,
  quote,
  skipSpace,
  unexpected,
} from './json-text.ts';

/** What is known of a value at its place in a document. Whatever is left out has no limit of its own there. */
export interface JsonShape {
  /** The value stays text: it is checked to be JSON, and nothing in it is counted. */
  isText?: boolean;
  itemsMax?: number;
  each?: JsonShape;
  membersMax?: number;
  /** By name. */
  members?: ReadonlyMap<string, JsonShape>;
  /** Of members that `members` does not name. */
  others?: JsonShape;
}

/** Limits of a whole document, outside of kept texts. */
export interface JsonLimits {
  /** Objects, lists, texts, numbers and literals together. */
  valuesMax: number;
  /** Lists and objects around a value. */
  depthMax: number;
  /** Fields of one object: many make an object ten times as costly as a list. */
  fieldsMax: number;
}

/** For documents of which nothing else is known. */
export const jsonLimits: JsonLimits = { valuesMax: 100_000, depthMax: 64, fieldsMax: 5_000 };

/** What was read of a text. */
export interface JsonCounts {
  /** How far, in UTF-16 units. */
  unitsRead: number;
  /** Values outside of kept texts. */
  values: number;
}

export interface ScannedJson extends JsonCounts {
  /** Beginnings and ends of kept texts, in the order of the document. */
  textBounds: number[];
}

/** A text that is JSON, but beyond a limit, or has a field twice. The message is a sentence without the path. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused';
  /** JSON pointer of the value that is too much, or of the repeated field. */
  readonly path: string;
  readonly counts: JsonCounts;
  /** Of a limit, its number; of a repeated field, where it is first and where again. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, at: Pick<JsonRefused, 'path' | 'counts' | 'details'>) {
    super(message);
    this.path = at.path;
    this.counts = at.counts;
    this.details = at.details;
  }
}

/**
 * Scans a text; outside of kept texts only its structure is checked. Throws `SyntaxError` where it is not JSON, `JsonRefused` at the
 * first excess.
 */
export function scanJson(text: string, shape: JsonShape, limits: JsonLimits = jsonLimits): ScannedJson {
  return new Scanner(text, limits).scan(shape);
}

const anything: JsonShape = {};

/** Up to this many names of an object are compared one by one, which is faster than a set. */
const namesListedMax = 12;

interface Field {
  /** As the text has it. */
  quoted: string;
  name: string;
  shape: JsonShape;
}

class Scanner {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #textBounds: number[] = [];
  #values = 0;
  /** Name or index of the value under way at each depth. */
  readonly #path: (string | number)[] = [];
  #depth = 0;
  /** Names of the open objects, those of the innermost last. */
  readonly #names: string[] = [];
  /** By shape, the fields of its last object, which the next one often has in the same order. */
  readonly #usual = new Map<JsonShape, Field[]>();

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  scan(shape: JsonShape): ScannedJson {
    const end = skipSpace(this.#text, this.#value(skipSpace(this.#text, 0), shape));
    if (end < this.#text.length) throw unexpected(this.#text, end);
    return { textBounds: this.#textBounds, unitsRead: end, values: this.#values };
  }

  /** Returns the end of the value that starts at `start`. */
  #value(start: number, shape: JsonShape): number {
    if (shape.isText === true) {
      const end = passJson(this.#text, start);
      this.#textBounds.push(start, end);
      return end;
    }
    this.#values += 1;
    if (this.#values > this.#limits.valuesMax) {
      const max = this.#limits.valuesMax;
      throw this.#refused(start, `There are more than ${inWords(max)} values`, { max });
    }
    const char = this.#text.charCodeAt(start);
    if (char === quote) return passUncheckedText(this.#text, start);
    if (char !== openBracket && char !== openBrace) return passUncheckedLiteral(this.#text, start);
    if (this.#depth >= this.#limits.depthMax) {
      const max = this.#limits.depthMax;
      throw this.#refused(start, `Lists and objects are nested more than ${inWords(max)} deep`, { max });
    }
    this.#depth += 1;
    const end = char === openBracket ? this.#items(start, shape) : this.#members(start, shape);
    this.#depth -= 1;
    return end;
  }

  #items(start: number, { each = anything, itemsMax = Number.POSITIVE_INFINITY }: JsonShape): number {
    const text = this.#text;
    let at = skipSpace(text, start + 1);
    if (text.charCodeAt(at) === closeBracket) return at + 1;
    for (let index = 0; ; index += 1) {
      if (index >= itemsMax) throw this.#tooMany(at, itemsMax, 'item');
      this.#path[this.#depth - 1] = index;
      at = skipSpace(text, this.#value(at, each));
      const char = text.charCodeAt(at);
      if (char === closeBracket) return at + 1;
      if (char !== comma) throw unexpected(text, at);
      at = skipSpace(text, at + 1);
    }
  }

  #members(start: number, shape: JsonShape): number {
    const { members, others = anything, membersMax = this.#limits.fieldsMax } = shape;
    const text = this.#text;
    let at = skipSpace(text, start + 1);
    if (text.charCodeAt(at) === closeBrace) return at + 1;
    const namesFrom = this.#names.length;
    const usual = this.#usualFields(shape);
    let many: Set<string> | undefined;
    for (let count = 0; ; count += 1) {
      if (text.charCodeAt(at) !== quote) throw unexpected(text, at);
      if (count >= membersMax) throw this.#tooMany(at, membersMax, 'field');
      let field = usual[count];
      if (field === undefined || !text.startsWith(field.quoted, at)) {
        const quoted = text.slice(at, passUncheckedText(text, at));
        const name = nameOf(quoted);
        field = { quoted, name, shape: members?.get(name) ?? others };
        usual[count] = field;
      }
      const { name } = field;
      this.#path[this.#depth - 1] = name;
      if (count === namesListedMax) many = new Set(this.#names.slice(namesFrom));
      if (many?.has(name) ?? this.#names.includes(name, namesFrom)) throw this.#repeated(start, at, name);
      if (many === undefined) this.#names.push(name);
      else many.add(name);
      at = skipSpace(text, at + field.quoted.length);
      if (text.charCodeAt(at) !== colon) throw unexpected(text, at);
      at = skipSpace(text, at + 1);
      at = skipSpace(text, this.#value(at, field.shape));
      const char = text.charCodeAt(at);
      if (char === closeBrace) {
        this.#names.length = namesFrom;
        return at + 1;
      }
      if (char !== comma) throw unexpected(text, at);
      at = skipSpace(text, at + 1);
    }
  }

  #usualFields(shape: JsonShape): Field[] {
    let fields = this.#usual.get(shape);
    if (fields === undefined) {
      fields = [];
      this.#usual.set(shape, fields);
    }
    return fields;
  }

  #refused(at: number, sentence: string, details: Record<string, unknown>, depth = this.#depth): JsonRefused {
    const parts = this.#path.slice(0, depth);
    return new JsonRefused(sentence, {
      path: parts.map((part) => `/${pointerPart(String(part))}`).join(''),
      counts: { unitsRead: at, values: this.#values },
      details,
    });
  }

  /** The fault is the whole list's or object's. */
  #tooMany(at: number, max: number, noun: string): JsonRefused {
    const sentence = `Must have at most ${inWords(max)} ${noun}${max === 1 ? '' : 's'}`;
    return this.#refused(at, sentence, { max }, this.#depth - 1);
  }

  #repeated(start: number, at: number, name: string): JsonRefused {
    let first = skipSpace(this.#text, start + 1);
    while (nameOf(this.#text.slice(first, passUncheckedText(this.#text, first))) !== name) {
      const colonAt = skipSpace(this.#text, passUncheckedText(this.#text, first));
      const end = passJson(this.#text, skipSpace(this.#text, colonAt + 1));
      first = skipSpace(this.#text, skipSpace(this.#text, end) + 1);
    }
    const places = [placeInText(this.#text, first), placeInText(this.#text, at)];
    const [one, two] = places.map(({ line, column }) => `line ${line}, column ${column}`);
    return this.#refused(at, `The field is given twice: at ${one}, and again at ${two}`, { places });
  }
}

/** Some editors begin a file with a byte order mark. It is no part of the text, and invisible. */
export const withoutByteOrderMark = (text: string): string =>
  text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;

/** Line and column of a position, both counted from 1. */
export function placeInText(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

const nameOf = (quoted: string): string =>
  quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
const pointerPart = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
const inWords = (count: number) => count.toLocaleString('en-US');
