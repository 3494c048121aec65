/**
 * Converts messages between wire and engine. The engine stores bytes; a property of the message marks them as JSON,
 * so the mark survives a restart and embedded consumers see it too. JSON is stored and answered as the text that came in.
 */
import { isUtf8 } from 'node:buffer';
import {
  type EnqueueStreamQuery,
  JsonText,
  type MessageOut,
  stringifyWithTexts,
  type NewMessage as WireMessage,
} from '@shardlab/contract';
import type { Message, NewMessage, StreamedMessage } from '@shardlab/engine';
import { ServerError } from '../errors.ts';

/** Properties with this prefix are reserved for the server. */
const reservedPrefix = 'shardlab-';
const reservedSentence = `Names that begin with "${reservedPrefix}" are reserved for the server`;
const contentType = `${reservedPrefix}content-type`;
const json = 'application/json';

/** `path` is the JSON pointer of the message in the request. Throws `REQUEST_INVALID`. */
export function fromWire(message: WireMessage, path: string): NewMessage {
  const { payload: _, payloadBase64, properties = {}, ...attributes } = message;
  const reserved = Object.keys(properties).find((name) => name.startsWith(reservedPrefix));
  if (reserved !== undefined) {
    throw invalid(`${path}/properties`, reservedSentence);
  }
  const isJson = Object.hasOwn(message, 'payload');
  if (isJson === (payloadBase64 !== undefined)) {
    throw invalid(path, 'A message must have either "payload" or "payloadBase64"');
  }
  const payload = payloadBase64 === undefined ? textOf(message.payload) : decodeBase64(payloadBase64, path);
  const stored = isJson ? { ...properties, [contentType]: json } : properties;
  return {
    ...attributes,
    payload,
    ...(Object.keys(stored).length === 0 ? {} : { properties: stored }),
  };
}

/** For a message whose payload is the request body. Throws `REQUEST_INVALID`. */
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
  const path = '/properties';
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
    throw invalid(path, 'Not a JSON object');
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value !== 'string') throw invalid(path, `The value of "${name}" is not a string`);
    if (name.startsWith(reservedPrefix)) throw invalid(path, reservedSentence);
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

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the body had there, without a change; `JSON.stringify` serves callers in this process. */
function textOf(payload: unknown): string {
  return payload instanceof JsonText ? payload.text : JSON.stringify(payload);
}

/** A response with messages as JSON, in which each payload is the text that was enqueued. */
export function stringifyMessages({ messages, ...rest }: { messages: readonly MessageOut[] }): string {
  const list = messages.map(stringifyWithTexts).join(',');
  return stringifyWithTexts({ messages: new JsonText(`[${list}]`), ...rest });
}

/** Accepts only text that encodes back to itself; Node's decoder silently skips invalid characters. */
function decodeBase64(text: string, path: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text)
    throw invalid(`${path}/payloadBase64`, 'Not valid base64 with padding');
  return bytes;
}

/** The content type of a payload that is downloaded on its own. */
export function contentTypeOf({ properties }: Pick<Message, 'properties'>): string {
  return properties?.[contentType] ?? 'application/octet-stream';
}

/** `REQUEST_INVALID`, for rules that a schema cannot express. */
export function invalid(path: string, message: string, cause?: unknown): ServerError {
  return new ServerError('REQUEST_INVALID', {
    message: `The request is not valid: ${path}: ${message}`,
    details: { errors: [{ path, message }] },
    cause,
  });
}
