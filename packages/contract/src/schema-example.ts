/** The smallest value that a JSON Schema permits, for examples in the API's reference. Pure. */

/** The part of a JSON Schema that the API's description uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  default?: unknown;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  patternProperties?: Readonly<Record<string, JsonSchema>>;
  additionalProperties?: boolean | JsonSchema;
  required?: readonly string[];
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  contentEncoding?: string;
  contentMediaType?: string;
  description?: string;
  title?: string;
}

/**
 * Texts are the name of their property where the schema permits that. A `$ref` has no example: `resolve` gives the schema that it
 * stands for.
 */
export function exampleOf(schema: JsonSchema, resolve: (ref: string) => JsonSchema, name = 'text'): unknown {
  if (schema.$ref !== undefined) return exampleOf(resolve(schema.$ref), resolve, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  const [type] = [schema.type].flat();
  if (type === undefined && schema.anyOf !== undefined) return exampleOf(schema.anyOf[0]!, resolve, name);
  if (type === 'object' || schema.properties !== undefined) return objectOf(schema, resolve);
  if (type === 'array') {
    const item = schema.items ?? {};
    return Array.from({ length: schema.minItems ?? 0 }, () => exampleOf(item, resolve, name));
  }
  if (type === 'integer' || type === 'number') return numberOf(schema);
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  return textOf(schema, name);
}

/**
 * Builds an object with the required properties, the first alternative of a `oneOf`, and further properties up to the minimum
 * number.
 */
function objectOf(schema: JsonSchema, resolve: (ref: string) => JsonSchema): Record<string, unknown> {
  const { properties = {}, required = [], minProperties = 0, oneOf, anyOf } = schema;
  const alternative = (oneOf ?? anyOf)?.[0]?.required ?? [];
  const named = new Set([...required, ...alternative]);
  for (const name of Object.keys(properties)) if (named.size < minProperties) named.add(name);
  return Object.fromEntries(
    [...named].map((name) => [name, exampleOf(properties[name] ?? {}, resolve, name)]),
  );
}

function numberOf({ type, minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  if (minimum !== undefined) return minimum;
  if (exclusiveMinimum !== undefined) return exclusiveMinimum + (type === 'integer' ? 1 : 0.5);
  return maximum === undefined ? 1 : Math.min(1, maximum);
}

function textOf({ pattern, contentEncoding, minLength = 0, maxLength }: JsonSchema, name: string): string {
  if (contentEncoding === 'base64') return 'AA==';
  const fits = (text: string) =>
    (pattern === undefined || new RegExp(pattern, 'u').test(text)) &&
    text.length >= minLength &&
    text.length <= (maxLength ?? text.length);
  const words = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return [name, words, 'A1', 'A', '1', 'x'.repeat(Math.max(1, minLength))].find(fits) ?? '';
}
