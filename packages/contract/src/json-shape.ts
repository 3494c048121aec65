/**
 * What a schema says of the structure of a document, for the scan before it is parsed: how long its lists and how large its open
 * objects may be, and where the payloads of messages are. So a limit stands in the schema alone.
 */
import type { JsonShape } from './json-scan.ts';
import { MessageOut, NewMessage } from './message.ts';

interface SchemaNode {
  anyOf?: SchemaNode[];
  items?: SchemaNode;
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, SchemaNode>;
  additionalProperties?: boolean | SchemaNode;
}

const payloads = new WeakSet<object>([NewMessage.properties.payload, MessageOut.properties.payload]);
const shapes = new WeakMap<object, JsonShape>();

/** `schema` is one of the contract's; keywords that it does not use are ignored. */
export function shapeOf(schema: object): JsonShape {
  let shape = shapes.get(schema);
  if (shape === undefined) {
    shape = payloads.has(schema) ? { isText: true } : makeShape(schema as SchemaNode);
    shapes.set(schema, shape);
  }
  return shape;
}

function makeShape(schema: SchemaNode): JsonShape {
  const { anyOf, items, maxItems, maxProperties, properties, patternProperties = {} } = schema;
  if (anyOf !== undefined) return anyOf.map(shapeOf).reduce(eitherOf);
  const { additionalProperties = true } = schema;
  const open = [...Object.values(patternProperties), additionalProperties].find(
    (others) => typeof others === 'object',
  );
  return {
    ...(maxItems !== undefined && { itemsMax: maxItems }),
    ...(items !== undefined && { each: shapeOf(items) }),
    ...(maxProperties !== undefined && { membersMax: maxProperties }),
    ...(properties !== undefined && {
      members: new Map(Object.entries(properties).map(([name, member]) => [name, shapeOf(member)])),
    }),
    ...(open !== undefined && { others: shapeOf(open) }),
  };
}

/** A value may be a list of one and an object of the other. Where both say something of one kind, neither limits it. */
function eitherOf(one: JsonShape, other: JsonShape): JsonShape {
  const isEmpty = (shape: JsonShape) => Object.keys(shape).length === 0;
  if (isEmpty(one)) return other;
  if (isEmpty(other)) return one;
  const isList = ({ itemsMax, each }: JsonShape) => itemsMax !== undefined || each !== undefined;
  return isList(one) === isList(other) ? {} : { ...one, ...other };
}
