/**
 * Converts messages between wire and engine. The engine stores bytes; a property of the message marks them as JSON,
 * so the mark survives a restart and embedded consumers see it too. JSON is stored and answered as the text that came in.
 */
import { isUtf8 } from 'node:buffer';
import {
  type EnqueueStreamQuery,
  isJsonText,
  JsonText,
  type MessageOut,
  stringifyWithTexts,
  type NewMessage as WireMessage,
} from '@shardlab/contract';
import { type Message, type NewMessage, QueueError, type StreamedMessage } from '@shardlab/engine';

/** Properties with this prefix are reserved for the server. */
const reservedPrefix = 'shardlab-';
const reservedSentence = `Names that begin with "${reservedPrefix}" are reserved for the server`;
const contentType = `${reservedPrefix}content-type`;
const json = 'application/json';

/** Converts a message that is valid by its schema. */
export function fromWire(message: WireMessage): NewMessage {
  const { payload: _, payloadBase64, properties = {}, ...attributes } = message;
  const isJson = payloadBase64 === undefined;
  const payload = isJson ? textOf(message.payload) : Buffer.from(payloadBase64, 'base64');
  const stored = isJson ? { ...properties, [contentType]: json } : properties;
  return {
    ...attributes,
    payload,
    ...(Object.keys(stored).length === 0 ? {} : { properties: stored }),
  };
}

/** Converts a message whose payload is the request body. Throws `MESSAGE_INVALID`. */
export function streamedFromWire({
  properties: json,
  recipient,
  ...attributes
}: EnqueueStreamQuery): Omit<StreamedMessage, 'payload'> {
  const properties = json === undefined ? undefined : parseProperties(json);
  return {
    ...attributes,
    ...(properties === undefined ? {} : { properties }),
    ...(recipient === undefined ? {} : { recipients: [recipient].flat() }),
  };
}

function parseProperties(json: string): Record<string, string> {
  let properties: unknown;
  try {
    properties = JSON.parse(json);
  } catch {
    // reported below
  }
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
    throw invalidProperties('properties is not a JSON object');
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value !== 'string') throw invalidProperties(`The value of "${name}" is not a string`);
    if (name.startsWith(reservedPrefix)) throw invalidProperties(reservedSentence);
  }
  return properties as Record<string, string>;
}

/** Everything that deliveries and browsing have in common: without the receipt of one and the state of the other. */
export function toWire(message: Omit<Message, 'receipt' | 'payloadStream'>): MessageOut {
  const { [contentType]: type, ...properties } = message.properties ?? {};
  return {
    id: message.id,
    ...(message.streamed
      ? { streamedBytes: message.payloadBytes }
      : decodePayload(message.payload, type === json)),
    ...(message.correlationId === undefined ? {} : { correlationId: message.correlationId }),
    ...(message.groupKey === undefined ? {} : { groupKey: message.groupKey }),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(message.priority === undefined ? {} : { priority: message.priority }),
    ...(message.recipients === undefined ? {} : { recipients: message.recipients }),
    enqueuedAtMs: message.enqueuedAtMs,
    deliveryCount: message.deliveryCount,
  };
}

function decodePayload(payload: Buffer, isJson: boolean): Pick<MessageOut, 'payload' | 'payloadBase64'> {
  // An embedded producer may set the property on any payload: what is not JSON is answered as bytes.
  if (isJson && isUtf8(payload)) {
    const text = payload.toString('utf8');
    if (isJsonText(text)) return { payload: new JsonText(text) };
  }
  return { payloadBase64: payload.toString('base64') };
}

/** The payload's text as the request body had it. Callers in this process pass values, which are serialized here. */
function textOf(payload: unknown): string {
  return payload instanceof JsonText ? payload.text : JSON.stringify(payload);
}

/** A response with messages as JSON, in which each payload is the text that was enqueued. */
export function stringifyMessages({ messages, ...rest }: { messages: readonly MessageOut[] }): string {
  const list = messages.map(stringifyWithTexts).join(',');
  return stringifyWithTexts({ messages: new JsonText(`[${list}]`), ...rest });
}

/** The content type of a payload that is downloaded on its own. */
export function contentTypeOf({ properties }: Pick<Message, 'properties'>): string {
  return properties?.[contentType] ?? 'application/octet-stream';
}

/** The error for a rule that the query's schema cannot express, because properties are text there. */
function invalidProperties(message: string): QueueError {
  return new QueueError('MESSAGE_INVALID', { message, details: { field: 'properties' } });
}
