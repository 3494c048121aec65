import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonRefused } from '../src/json-scan.ts';
import { isJsonText } from '../src/json-text.ts';
import { JsonText, parseKeepingPayloads, stringifyWithTexts } from '../src/payload-text.ts';

const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const number = fc.constantFrom('0', '-0', '1e400', '12345678901234567890', '0.10', '-1E+2', '1e-7');
const string = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\\\"', '"\\\\\\""', '"\\u005c"', '"]}"', '"{[,:"', '"\\ud83d\\ude00"', '""'),
);
/** Names of object members. They may repeat within an object, and some are the same name with an escape. */
const name = fc.constantFrom(
  '"payload"',
  '"p\\u0061yload"',
  '"messages"',
  '"\\u006dessages"',
  '"enqueue"',
  '"a"',
  '"__proto__"',
  '"\\""',
);
/** Texts of JSON values, with white space wherever JSON allows it. */
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: 'small' },
    fc.constantFrom('true', 'false', 'null'),
    number,
    string,
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
    .map(
      ([inner, items]) => `[${items.length === 0 ? inner : items.map((item) => item.join('')).join(',')}]`,
    ),
  object: fc
    .tuple(space, fc.array(fc.tuple(space, name, space, space, tie('value'), space), { maxLength: 5 }))
    .map(([inner, members]) => {
      const texts = members.map(([a, key, b, c, text, d]) => `${a}${key}${b}:${c}${text}${d}`);
      return `{${texts.length === 0 ? inner : texts.join(',')}}`;
    }),
}));
const spaced = fc.tuple(space, value, space).map((parts) => parts.join(''));

/** A message of the API more often than any other object, so that payloads are found often. */
const message = fc
  .array(fc.tuple(fc.constantFrom('"payload"', '"p\\u0061yload"', '"a"'), spaced), { maxLength: 4 })
  .map((members) => `{${members.map(([key, text]) => `${key}:${text}`).join(',')}}`);
const messageList = fc
  .array(fc.oneof({ weight: 4, arbitrary: message }, spaced), { maxLength: 4 })
  .map((items) => `[${items.join(',')}]`);
const lists = fc
  .array(
    fc.tuple(fc.constantFrom('"messages"', '"m\\u0065ssages"', '"queue"'), fc.oneof(messageList, spaced)),
    {
      maxLength: 3,
    },
  )
  .map((members) => `{${members.map(([key, text]) => `${key}:${text}`).join(',')}}`);
const transaction = fc
  .array(fc.oneof(lists, spaced), { maxLength: 3 })
  .map((items) => `{"enqueue":[${items.join(',')}]}`);
const body = fc.oneof(spaced, lists, transaction);

/** Parses the payload texts that were kept: the result must equal that of `JSON.parse` for the whole body. */
function parsed(kept: unknown): unknown {
  if (kept instanceof JsonText) return JSON.parse(kept.text);
  if (Array.isArray(kept)) return kept.map(parsed);
  if (typeof kept !== 'object' || kept === null) return kept;
  return Object.fromEntries(Object.entries(kept).map(([key, inner]) => [key, parsed(inner)]));
}

interface Body {
  messages?: { payload?: unknown }[];
}

function isJsonOf(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

function refusalOf(text: string): Error | undefined {
  try {
    parseKeepingPayloads(text);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

const payloadsOf = (text: string) =>
  (parseKeepingPayloads(text) as Body).messages!.map(({ payload }) => (payload as JsonText).text);

describe('a body whose payloads are kept as text', () => {
  it('equals the result of JSON.parse once its payloads are parsed too, unless a field is given twice', () => {
    let refused = 0;
    fc.assert(
      fc.property(body, (text) => {
        let kept: unknown;
        try {
          kept = parseKeepingPayloads(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonRefused);
          expect((error as JsonRefused).message).toContain('given twice');
          refused += 1;
          return;
        }
        expect(parsed(kept)).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
    expect(refused).toBeLessThan(1_500);
  });

  it('is refused or accepted as JSON.parse does, wherever a character is changed', () => {
    const character = fc.constantFrom(
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      '-',
      '.',
      'e',
      'u',
      't',
      '\n',
      '\u0000',
      ' ',
      'x',
    );
    const change = fc.record({ text: spaced, at: fc.nat(), character, deleted: fc.nat(2) });
    fc.assert(
      fc.property(change, ({ text, at, character: inserted, deleted }) => {
        const start = at % (text.length + 1);
        const changed = text.slice(0, start) + inserted + text.slice(start + deleted);
        const isJson = isJsonOf(() => JSON.parse(changed));
        expect([changed, isJsonText(changed)]).toEqual([changed, isJson]);
        const asPayload = `{"messages":[{"payload":${changed}}]}`;
        const refusal = refusalOf(asPayload);
        if (isJson) expect(refusal).toBeUndefined();
        // One that ends its object early may begin another with the same field, which is refused before the end is seen.
        else if (!(refusal instanceof JsonRefused))
          expect(refusal === undefined).toBe(isJsonOf(() => JSON.parse(asPayload)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps the text of every payload where the API has one, and of nothing else', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), space, (values, gap) => {
        const list = values.map((text) => `{"payload":${gap}${text}${gap}}`).join(',');
        expect(payloadsOf(`{"messages":[${list}]}`)).toEqual(values);
        const enqueue = `{"enqueue":[{"queue":"q","messages":[${list}]}]}`;
        const {
          enqueue: [entry],
        } = parseKeepingPayloads(enqueue) as { enqueue: [Body] };
        expect(entry.messages!.map(({ payload }) => (payload as JsonText).text)).toEqual(values);
      }),
    );
    const elsewhere = '{"payload":1,"execute":[{"payload":2}],"messages":{"payload":3}}';
    expect(parseKeepingPayloads(elsewhere)).toEqual(JSON.parse(elsewhere));
  });

  it('is refused if it is not JSON', () => {
    for (const text of ['', '{', '{"messages":[{"payload":}]}', '{"messages":[{"payload":01}]}', "{'a':1}"]) {
      expect(() => parseKeepingPayloads(text), text).toThrow(SyntaxError);
    }
  });

  it('may be nested as deep as its length allows', () => {
    const deep = '['.repeat(500_000) + ']'.repeat(500_000);
    expect(payloadsOf(`{"messages":[{"payload":${deep}}]}`)).toEqual([deep]);
  });

  it('is read in linear time, whatever its strings are made of', () => {
    // An algorithm that is quadratic in the length would take minutes for any of these.
    for (const text of ['\\\\'.repeat(2_000_000), '\\"'.repeat(2_000_000), '{['.repeat(2_000_000)]) {
      expect(payloadsOf(`{"messages":[{"payload":"${text}"}]}`)).toEqual([`"${text}"`]);
    }
  });
});

it('a kept payload text is written unchanged among other members', () => {
  const written = stringifyWithTexts({
    id: '1',
    payload: new JsonText('{"b":1e400, "a":1,"a":2}'),
    none: undefined,
  });
  expect(written).toBe('{"id":"1","payload":{"b":1e400, "a":1,"a":2}}');
});
