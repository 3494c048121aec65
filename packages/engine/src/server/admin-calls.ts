/** Answers the administrative calls of clients. */

import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { ChunkedPayload } from '../model/message-record.ts';
import { chunkedPayloadKey } from '../queues/record-content.ts';
import type { AdminArguments, AdminCall, AdminResult, WireBrowsedMessage } from '../wire/admin-call-types.ts';
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

/** Reads so few messages at a time that even the largest fit the answer. */
async function browse(
  instance: Instance,
  queue: string,
  options: AdminArguments<'browse'>[1] = {},
): Promise<AdminResult<'browse'>> {
  const { limit = 100, ...rest } = options;
  const messages: WireBrowsedMessage[] = [];
  let bytes = 0;
  let after = rest.after;
  for (;;) {
    const fittingMessages = Math.floor((limits.browseBytesMax - bytes) / limits.browsedMessageBytesMax);
    const stepLimit = Math.min(limit - messages.length, fittingMessages);
    if (stepLimit < 1 && messages.length > 0) return { messages, next: after ?? null };
    const page = await instance.browse(queue, {
      ...rest,
      limit: stepLimit,
      ...(after === undefined ? {} : { after }),
    });
    for (const message of page.messages as (BrowsedMessage & { [chunkedPayloadKey]?: ChunkedPayload })[]) {
      const chunked = message[chunkedPayloadKey];
      const payload = message.payload.toString('base64');
      const others = { ...message, ...(chunked !== undefined && { chunked }) };
      messages.push({ ...others, payload });
      bytes += payload.length + Buffer.byteLength(JSON.stringify({ ...others, payload: '' }));
    }
    if (page.next === null) return { messages, next: null };
    after = page.next;
  }
}

/** Returns the result as JSON. Throws `PROTOCOL_INVALID` for an unknown call, and what the call throws. */
export async function answerAdminCall(instance: Instance, json: string): Promise<string> {
  let call: { method: AdminCall; args: unknown[] };
  try {
    call = JSON.parse(json) as typeof call;
  } catch {
    throw protocolError('An administrative call is not JSON');
  }
  if (!Object.hasOwn(handlers, call.method) || !Array.isArray(call.args)) {
    throw protocolError(`Unknown administrative call: ${String(call.method)}`);
  }
  const handler = handlers[call.method] as (instance: Instance, ...args: unknown[]) => unknown;
  return JSON.stringify((await handler(instance, ...call.args)) ?? null);
}
