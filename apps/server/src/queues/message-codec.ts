/**
 * Messages between the wire and the engine. The engine stores bytes; that they are JSON is told by a property of the
 * message, so it survives a restart and an embedded consumer sees it too.
 */
import type { MessageOut, NewMessage as WireMessage } from '@shardlab/contract';
import type { Message, NewMessage } from '@shardlab/engine';
import { ServerError } from '../errors.ts';

/** Properties with this prefix are the server's own. */
const reservedPrefix = 'shardlab-';
const contentType = `${reservedPrefix}content-type`;
const json = 'application/json';

/** Throws `REQUEST_INVALID` at the path of the message. */
export function fromWire(message: WireMessage, path: string): NewMessage {
  const { payload: _, payloadBase64, properties = {}, ...marks } = message;
  const reserved = Object.keys(properties).find((name) => name.startsWith(reservedPrefix));
  if (reserved !== undefined) {
    throw invalid(`${path}/properties`, `Names that begin with "${reservedPrefix}" are the server's own`);
  }
  const isJson = Object.hasOwn(message, 'payload');
  if (isJson === (payloadBase64 !== undefined)) {
    throw invalid(path, 'A message has either "payload" or "payloadBase64"');
  }
  const payload =
    payloadBase64 === undefined ? encodeJson(message.payload, path) : decodeBase64(payloadBase64, path);
  const stored = isJson ? { ...properties, [contentType]: json } : properties;
  return {
    ...marks,
    payload,
    ...(Object.keys(stored).length === 0 ? {} : { properties: stored }),
  };
}

/** All but what tells a hand-out (its receipt) from a look (its state). */
export function toWire(message: Omit<Message, 'receipt'>): MessageOut {
  const { [contentType]: type, ...properties } = message.properties ?? {};
  return {
    id: message.id,
    ...decodePayload(message.payload, type === json),
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
  if (isJson) {
    try {
      return { payload: JSON.parse(payload.toString('utf8')) };
    } catch {
      // An embedded producer may set the property on anything; the bytes are still the truth.
    }
  }
  return { payloadBase64: payload.toString('base64') };
}

function encodeJson(value: unknown, path: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalid(`${path}/payload`, 'The value is nested too deeply', error);
  }
}

/** Strict: what decodes and encodes to the same text. Node's own decoder skips what it does not know. */
function decodeBase64(text: string, path: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text)
    throw invalid(`${path}/payloadBase64`, 'Not base64 with its padding');
  return bytes;
}

/** `REQUEST_INVALID`, for what a schema cannot say. */
export function invalid(path: string, message: string, cause?: unknown): ServerError {
  return new ServerError('REQUEST_INVALID', {
    sentence: `The body is not valid: ${path}: ${message}`,
    details: { errors: [{ path, message }] },
    cause,
  });
}
