import { describe, expect, it } from 'vitest';
import {
  Enqueue,
  isJsonText,
  JsonRefused,
  type JsonShape,
  JsonText,
  parseKeepingPayloads,
  scanJson,
  shapeOf,
  Transaction,
} from '../src/index.ts';

function refusal(
  text: string,
  shape: JsonShape = {},
  limits = { valuesMax: 100, depthMax: 8, fieldsMax: 50 },
): JsonRefused {
  try {
    scanJson(text, shape, limits);
  } catch (error) {
    if (error instanceof JsonRefused) return error;
    throw error;
  }
  throw new Error(`accepted: ${text.slice(0, 80)}`);
}

describe('the scan of a JSON text', () => {
  it('ends at the first value that is too much, and says where that is', () => {
    const rest = ',0'.repeat(1_000_000);
    const { path, message, counts, details } = refusal(`{"a":[${'0,'.repeat(97)}0,1${rest}]}`);
    expect([path, message, details]).toEqual(['/a/98', 'There are more than 100 values', { max: 100 }]);
    expect(counts).toEqual({ unitsRead: 6 + 2 * 98, values: 101 });
  });

  it('ends at the first list or object that is too deep', () => {
    const { path, message, counts } = refusal('['.repeat(1_000_000));
    expect([path, message]).toEqual(['/0'.repeat(8), 'Lists and objects are nested more than 8 deep']);
    expect(counts).toEqual({ unitsRead: 8, values: 9 });
  });

  it('ends at the first item and the first field that a shape does not allow', () => {
    const shape: JsonShape = {
      members: new Map([
        ['list', { itemsMax: 2 }],
        ['fields', { membersMax: 1 }],
      ]),
    };
    const many = refusal(`{"list":[1, 2 ,3${',4'.repeat(1000)}]}`, shape);
    expect([many.path, many.message, many.counts.unitsRead]).toEqual([
      '/list',
      'Must have at most 2 items',
      15,
    ]);
    const fields = refusal('{"fields":{"a":1,"b":2}}', shape);
    expect([fields.path, fields.message]).toEqual(['/fields', 'Must have at most 1 field']);
    const free = refusal(`{"a":{${Array.from({ length: 51 }, (_, index) => `"${index}":0`).join(',')}}}`);
    expect([free.path, free.message]).toEqual(['/a', 'Must have at most 50 fields']);
    expect(scanJson('{"list":[1,2],"fields":{"a":1}}', shape).values).toBe(6);
  });

  it.each([
    ['{"a":1,\n  "a":2}', '/a', [1, 2], [2, 3]],
    ['{"b":{"x":[{}], "c~/" : "\\"}", "c~\\u002f":0}}', '/b/c~0~1', [1, 17], [1, 32]],
    [`{${Array.from({ length: 30 }, (_, i) => `"${i}":0`).join(',')},"7":1}`, '/7', [1, 44], [1, 202]],
  ])('names both places of a field that is given twice: %s', (text, path, first, second) => {
    const found = refusal(text);
    const places = [first, second].map(([line, column]) => ({ line, column }));
    expect([found.path, found.details]).toEqual([path, { places }]);
    expect(found.message).toBe(
      `The field is given twice: at line ${first[0]}, column ${first[1]}, and again at line ${second[0]}, column ${second[1]}`,
    );
  });

  it('takes fields of one name in different objects', () => {
    expect(scanJson('{"a":{"a":{"a":0},"b":1},"b":[{"a":1},{"a":1}]}', {}).values).toBe(10);
  });

  it.each([
    '',
    ' ',
    '{',
    '[',
    '[1,',
    '{"a"',
    '{"a":',
    '"',
    '"\\"',
    '[1 2]',
    '{"a" 1}',
    '{1:2}',
    '[,]',
    '[1]]',
    '{"a":}',
  ])('refuses what is no JSON, even in an unfinished text: %j', (text) => {
    expect(() => scanJson(text, {})).toThrow(SyntaxError);
    expect(isJsonText(text)).toBe(false);
  });
});

describe('the shape of a schema', () => {
  it('keeps payloads, and limits lists and open objects', () => {
    const message = '{"payload":{"a":1,"a":[2]},"properties":{"x":"y"}}';
    const body = `{"enqueue":[{"queue":"q","messages":[${message}]}],"execute":[{"sql":"","parameters":[1]}]}`;
    const parsed = parseKeepingPayloads(body, { shape: shapeOf(Transaction) }) as Transaction;
    expect(parsed.enqueue![0]!.messages[0]!.payload).toEqual(new JsonText('{"a":1,"a":[2]}'));
    expect(parsed.execute).toEqual([{ sql: '', parameters: [1] }]);

    const list = `{"messages":[${'{"payload":1},'.repeat(70_000)}{"payload":1}]}`;
    const {
      path,
      message: sentence,
      counts,
    } = refusal(list, shapeOf(Enqueue), { valuesMax: 1e5, depthMax: 9, fieldsMax: 5e3 });
    expect([path, sentence]).toEqual(['/messages', 'Must have at most 1,000 items']);
    expect(counts).toEqual({ unitsRead: 13 + 14 * 1000, values: 1_002 });

    const names = Array.from({ length: 1_001 }, (_, index) => `"${index}":0`).join(',');
    for (const parameters of [`[${'0,'.repeat(1000)}0]`, `{${names}}`]) {
      const text = `{"execute":[{"sql":"","parameters":${parameters}}]}`;
      expect(refusal(text, shapeOf(Transaction), { valuesMax: 1e5, depthMax: 9, fieldsMax: 5e3 }).path).toBe(
        '/execute/0/parameters',
      );
    }
  });
});
