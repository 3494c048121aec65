/** Answers the administrative calls of clients. */

import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import { assertFields } from '../model/call-arguments.ts';
import { browseFields } from '../model/call-fields.ts';
import type { ChunkedPayload } from '../model/message-record.ts';
import { chunkedPayloadKey } from '../queues/record-content.ts';
import type { AdminArguments, AdminCall, AdminResult, WireBrowsedMessage } from '../wire/admin-call-types.ts';
import { parseBoundedJson } from '../wire/bounded-json.ts';
import { protocolError } from '../wire/protocol.ts';

type AdminCallHandlers = {
  readonly [C in AdminCall]: (
    instance: Instance,
    ...args: AdminArguments<C>
  ) => AdminResult<C> | Promise<AdminResult<C>>;
};

const handlers: AdminCallHandlers = {
  createQueue: (instance, ...args) => instance.createQueue(...args),
  dropQueue: (instance, ...args) => instance.dropQueue(...args),
  startQueue: (instance, ...args) => instance.startQueue(...args),
  stopQueue: (instance, ...args) => instance.stopQueue(...args),
  queues: (instance) => instance.queues(),
  queue: (instance, ...args) => instance.queue(...args),
  subscribe: (instance, ...args) => instance.subscribe(...args),
  unsubscribe: (instance, ...args) => instance.unsubscribe(...args),
  subscribers: (instance, ...args) => instance.subscribers(...args),
  stats: (instance) => instance.stats(),
  probe: (instance) => instance.probe(),
  services: (instance) => instance.services(),
  callService: (instance, ...args) => instance.callService(...args),
  messageTrace: (instance, ...args) => instance.messageTrace(...args),
  tracedMessages: (instance, ...args) => instance.tracedMessages(...args),
  traceNext: (instance, ...args) => instance.traceNext(...args),
  queueStats: (instance, ...args) => instance.queueStats(...args),
  waits: (instance) => instance.waits.snapshot(),
  browse,
};

/** Bytes of JSON that a byte of a record needs at most: those of a name may be escaped. */
const jsonBytesMax = 6;

/** Messages that fit the answer. How much room is left is known once they are JSON: payloads grow by a third only. */
async function browse(
  instance: Instance,
  queue: string,
  given: NonNullable<AdminArguments<'browse'>[1]> = {},
): Promise<AdminResult<'browse'>> {
  assertFields(given, browseFields);
  const { limit = 100, bytesMax = Number.POSITIVE_INFINITY, ...options } = given;
  const messages: WireBrowsedMessage[] = [];
  let [room, left] = [limits.browseBytesMax, bytesMax];
  let next = options.after;
  for (;;) {
    const page = await instance.browse(queue, {
      ...options,
      ...(next === undefined ? {} : { after: next }),
      limit: limit - messages.length,
      bytesMax: Math.min(left, Math.floor(room / jsonBytesMax)),
    });
    for (const browsed of page.messages) {
      const message = toWire(browsed);
      messages.push(message);
      room -= message.payload.length + Buffer.byteLength(JSON.stringify({ ...message, payload: '' }));
      left -= browsed.payload.length;
    }
    const isFull =
      messages.length === limit || room < limits.browsedMessageBytesMax || left < limits.payloadBytesMax;
    // A page of one state may have few of the messages that were read for it.
    if (page.next === null || isFull || options.state !== undefined) return { messages, next: page.next };
    next = page.next;
  }
}

function toWire(message: BrowsedMessage & { [chunkedPayloadKey]?: ChunkedPayload }): WireBrowsedMessage {
  const chunked = message[chunkedPayloadKey];
  return {
    ...message,
    ...(chunked !== undefined && { chunked }),
    payload: message.payload.toString('base64'),
  };
}

/** Returns the result as JSON. Throws `PROTOCOL_INVALID` for an unknown call, and what the call throws. */
export async function answerAdminCall(instance: Instance, json: string): Promise<string> {
  const call = parseBoundedJson<{ method: AdminCall; args: unknown[] }>(json, 'An administrative call');
  if (!Object.hasOwn(handlers, call.method) || !Array.isArray(call.args)) {
    throw protocolError(`Unknown administrative call: ${String(call.method)}`);
  }
  const handler = handlers[call.method] as (instance: Instance, ...args: unknown[]) => unknown;
  return JSON.stringify((await handler(instance, ...call.args)) ?? null);
}
