/**
 * Payloads of messages inside a JSON text, as they are written there. `JSON.parse` alone would round large numbers, and
 * would lose repeated members, their order and white space. Both the server and the dashboard keep the text instead.
 */
import { type JsonCounts, type JsonLimits, type JsonShape, scanJson } from './json-scan.ts';

/** A JSON value as its text. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const messages: JsonShape = { each: { members: new Map([['payload', { isText: true }]]) } };
/** Payloads of a message list, enqueued or delivered, and of a transaction. */
const payloads: JsonShape = {
  members: new Map([
    ['messages', messages],
    ['enqueue', { each: { members: new Map([['messages', messages]]) } }],
  ]),
};

export interface ParseOptions {
  /** Where texts are kept and lists are limited; default: payloads are kept. */
  shape?: JsonShape;
  limits?: JsonLimits;
  /** Receives what was read of a text that is built. */
  onScanned?: (counts: JsonCounts) => void;
}

/**
 * Like `JSON.parse`, but the payload of each message is a `JsonText`, and nothing is built of a text beyond the limits. Linear in
 * the text. Throws `SyntaxError`, and `JsonRefused` for what is too much, or a field that an object has twice.
 */
export function parseKeepingPayloads(
  text: string,
  { shape = payloads, limits, onScanned }: ParseOptions = {},
): unknown {
  const scanned = scanJson(text, shape, limits);
  onScanned?.(scanned);
  const { textBounds } = scanned;
  if (textBounds.length === 0) return JSON.parse(text);
  let rest = '';
  let end = 0;
  const texts: JsonText[] = [];
  for (let at = 0; at < textBounds.length; at += 2) {
    const from = textBounds[at]!;
    rest += `${text.slice(end, from)}0`;
    end = textBounds[at + 1]!;
    texts.push(new JsonText(text.slice(from, end)));
  }
  const value: unknown = JSON.parse(rest + text.slice(end));
  if (shape.isText === true) return texts[0];
  putBack(value, shape, texts.values());
  return value;
}

/** Puts the kept texts where the document has them: the fields of a parsed object are in its order, but for numbers as names. */
function putBack(value: unknown, shape: JsonShape, texts: Iterator<JsonText>): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (shape.each === undefined) return;
    for (const item of value) putBack(item, shape.each, texts);
    return;
  }
  if (shape.members === undefined) return;
  const object = value as Record<string, unknown>;
  for (const name in object) {
    const member = shape.members.get(name);
    if (member === undefined) continue;
    if (member.isText === true) object[name] = texts.next().value;
    else putBack(object[name], member, texts);
  }
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
