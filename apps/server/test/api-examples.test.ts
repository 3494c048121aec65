/** The bodies and parameters that the API's reference shows as examples are accepted by the API. */
import { exampleOf, type JsonSchema } from '@shardlab/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { startApp } from './start-app.ts';

interface Described {
  components: { schemas: Record<string, JsonSchema> };
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; schema: JsonSchema; example?: unknown }[];
        requestBody?: { content: Record<string, { schema: JsonSchema }> };
      }
    >
  >;
}

it('every example of a body or a parameter fits its schema', async () => {
  const { get } = await startApp();
  const { body } = await get<Described>('/openapi.json');
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const resolve = (ref: string) => body.components.schemas[ref.split('/').at(-1)!]!;
  const faults: string[] = [];
  let examples = 0;
  for (const [path, operations] of Object.entries(body.paths)) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const bodies = Object.entries(requestBody?.content ?? {}).filter(
        ([type]) => type === 'application/json',
      );
      const schemas = [
        ...bodies.map(([, { schema }]) => ({ name: 'body', schema, example: undefined })),
        ...parameters,
      ];
      for (const { name, schema, example = exampleOf(schema, resolve, name) } of schemas) {
        examples += 1;
        if (!ajv.validate(schema, example))
          faults.push(
            `${method} ${path} ${name}: ${JSON.stringify(example)?.slice(0, 200)} ${ajv.errorsText()}`,
          );
      }
    }
  }
  expect(examples).toBeGreaterThan(40);
  expect(faults).toEqual([]);
});
