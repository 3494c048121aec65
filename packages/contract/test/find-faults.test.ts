import * as contract from '@shardlab/contract';
import { faultsListedMax, findFaults, NewMessage, Scenario, Statement } from '@shardlab/contract';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, test } from 'vitest';

/** A proxy that counts every property read of a value and of the values nested in it. */
function counted<T extends object>(value: T): { value: T; reads: () => number } {
  let reads = 0;
  const wrap = <V>(inner: V): V =>
    typeof inner !== 'object' || inner === null
      ? inner
      : (new Proxy(inner, {
          get(target, key, receiver) {
            reads += 1;
            return wrap(Reflect.get(target, key, receiver));
          },
        }) as V);
  return { value: wrap(value), reads: () => reads };
}

function readsOf(schema: object, value: object): number {
  const { value: watched, reads } = counted(value);
  findFaults(schema, watched);
  return reads();
}

describe('the cost of listing faults', () => {
  const Names = Type.Object({
    names: Type.Array(Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Object({ c: Type.Integer() })])),
  });
  const Distinct = Type.Array(Type.Integer(), { uniqueItems: true });

  test('is linear in a value whose only fault is at its end', () => {
    const names = (count: number) => ({ names: [...Array(count).fill({ c: 1 }), 'wrong'] });
    expect(findFaults(Names, names(1_000)).faults.map(({ path }) => path)).toEqual(['/names/1000']);
    expect(readsOf(Names, names(4_000))).toBeLessThanOrEqual(4 * readsOf(Names, names(1_000)));
  });

  test('is linear for an array whose items must be unique', () => {
    const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
    expect(readsOf(Distinct, numbers(4_000))).toBeLessThanOrEqual(4 * readsOf(Distinct, numbers(1_000)));
  });

  test('does not grow with the number of faults past the listed ones', () => {
    const wrong = (count: number) => ({ names: Array(count).fill('wrong') });
    expect(readsOf(Names, wrong(36_000))).toBe(readsOf(Names, wrong(1_000)));
  });

  test('stays linear in ajv too, since every array whose items must be unique has at most 32', () => {
    const unbounded: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { uniqueItems, maxItems } = schema as { uniqueItems?: boolean; maxItems?: number };
      if (uniqueItems === true && !(maxItems !== undefined && maxItems <= 32)) unbounded.push(path);
      for (const [key, inner] of Object.entries(schema)) visit(inner, `${path}/${key}`);
    };
    for (const [name, exported] of Object.entries(contract)) visit(exported, name);
    expect(unbounded).toEqual([]);
  });
});

describe('a value with many faults', () => {
  test('has the first of them listed, and is said to have more', () => {
    const fields = Object.fromEntries(Array.from({ length: 36_000 }, (_, index) => [`f${index}`, 0]));
    const found = findFaults(Scenario, fields);
    expect(found.faults).toHaveLength(faultsListedMax);
    expect(found.more).toBe(true);
  });

  test('is not said to have more if it has exactly as many as are listed', () => {
    const Numbers = Type.Array(Type.Integer());
    expect(findFaults(Numbers, Array(faultsListedMax).fill('x')).more).toBe(false);
    expect(findFaults(Numbers, Array(faultsListedMax + 1).fill('x')).more).toBe(true);
  });
});

/** A schema with every keyword that the contract's requests use. */
const Everything = Type.Object(
  {
    kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
    ratio: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 3, pattern: '^[a-z😀]*$' })),
    labels: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.String(), { maxProperties: 2 }),
    ),
    numbers: Type.Optional(Type.Array(Type.Integer(), { minItems: 1, maxItems: 3, uniqueItems: true })),
    either: Type.Optional(
      Type.Union([
        Type.Null(),
        Type.String(),
        Type.Object({ x: Type.Integer() }, { additionalProperties: false }),
      ]),
    ),
    version: Type.Optional(Type.Literal(1)),
    any: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
);

const scalar = fc.oneof(
  fc.constantFrom<unknown>('a', 'b', '', '😀😀😀', 'abcd', 'A', 0, 1, 9, 10, 1.5, -1, null, true),
  fc.integer({ min: -2, max: 12 }),
);
const anyValue = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 5 }),
  fc.dictionary(fc.constantFrom('x', 'a', 'b', 'c', 'A'), scalar, { maxKeys: 4 }),
);

describe('a message', () => {
  const pathsAndMessages = (value: unknown) =>
    findFaults(NewMessage, value).faults.map(({ path, message }) => `${path}: ${message}`);

  test('has exactly one of the two kinds of payload', () => {
    const sentence = ': Must have either "payload" or "payloadBase64"';
    expect(pathsAndMessages({})).toEqual([sentence]);
    expect(pathsAndMessages({ payload: 1, payloadBase64: '' })).toEqual([sentence]);
    expect(pathsAndMessages({ payload: null })).toEqual([]);
  });

  test('has no property with a reserved name', () => {
    expect(pathsAndMessages({ payload: 1, properties: { 'shardlab-x': '', a: '' } })).toEqual([
      '/properties/shardlab-x: The name "shardlab-x" must match ^(?!shardlab-)',
    ]);
  });

  test('has only base64 that encodes back to itself', () => {
    for (const text of ['', 'AA==', 'AAA=', 'AAAA', 'AAAAAQ==', '/+8=']) {
      expect([text, pathsAndMessages({ payloadBase64: text })]).toEqual([text, []]);
      expect(Buffer.from(text, 'base64').toString('base64')).toBe(text);
    }
    for (const text of ['A', 'AA', 'AA=', 'AB==', 'AAB=', 'AA==AA==', 'AA==\n', '-_8=', 'AA A']) {
      expect([text, pathsAndMessages({ payloadBase64: text }).length]).toEqual([text, 1]);
      expect(Buffer.from(text, 'base64').toString('base64')).not.toBe(text);
    }
    expect(pathsAndMessages({ payloadBase64: 'A'.repeat(1_400_000) })).toEqual([]);
  });
});

describe('a parameter of a SQL statement', () => {
  test('is reported at its own path, with the keyword that it violates', () => {
    const { faults } = findFaults(Statement, { sql: '', parameters: [1, 2 ** 53, { real: 'x' }] });
    expect(faults.map(({ path, keyword }) => [path, keyword])).toEqual([
      ['/parameters/1', 'maximum'],
      ['/parameters/2', 'anyOf'],
    ]);
  });
});

describe('the faults that are found', () => {
  test('are those that ajv finds, at the same paths', () => {
    const ajv = new Ajv({ allErrors: true, strict: false });
    const validate = ajv.compile(JSON.parse(JSON.stringify(Everything)));
    const placesOf = (errors: NonNullable<typeof validate.errors>) => {
      const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
      return errors
        .filter((error) => !unions.some(({ schemaPath }) => error.schemaPath.startsWith(`${schemaPath}/`)))
        .map(({ instancePath, params }) => {
          const field = params.additionalProperty ?? params.missingProperty;
          return field === undefined ? instancePath : `${instancePath}/${field}`;
        });
    };
    const keys = [...Object.keys(Everything.properties), 'other', '__proto__', 'constructor'];
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...keys), anyValue), { maxLength: 8 }), (entries) => {
        const value = JSON.parse(
          `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${JSON.stringify(inner)}`).join(',')}}`,
        );
        const valid = validate(value);
        const { faults, more } = findFaults(Everything, value);
        expect([valid, more]).toEqual([faults.length === 0, false]);
        // We report a repeated value at its own index; ajv reports it at its array.
        // If only one member of a union has the value's type, we report its faults at their own paths; ajv reports them at the union's.
        const found = faults.map(({ path, keyword }) =>
          keyword === 'uniqueItems' ? path.replace(/\/\d+$/, '') : path.replace(/^\/either\/.*/, '/either'),
        );
        expect([...new Set(found)].sort()).toEqual([...new Set(placesOf(validate.errors ?? []))].sort());
      }),
      { numRuns: 1_000, examples: [[[['numbers', ['', '']]]]] },
    );
  });
});
