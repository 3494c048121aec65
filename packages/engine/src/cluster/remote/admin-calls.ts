/** Calls that are rare: their arguments and results travel as JSON. */
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { chunkedPayload } from '../../instance/record-message.ts';
import type { ChunkedPayload } from '../../storage/message-record.ts';
import type { BrowsedMessage, Instance } from '../../types.ts';
import { protocolError } from './protocol.ts';

/** What a client may call, by the name that it goes by on the wire. */
export const adminCalls = {
  createQueue: (instance: Instance, ...args: Parameters<Instance['createQueue']>) =>
    instance.createQueue(...args),
  dropQueue: (instance: Instance, ...args: Parameters<Instance['dropQueue']>) => instance.dropQueue(...args),
  startQueue: (instance: Instance, ...args: Parameters<Instance['startQueue']>) =>
    instance.startQueue(...args),
  stopQueue: (instance: Instance, ...args: Parameters<Instance['stopQueue']>) => instance.stopQueue(...args),
  queues: (instance: Instance) => instance.queues(),
  queue: (instance: Instance, ...args: Parameters<Instance['queue']>) => instance.queue(...args),
  subscribe: (instance: Instance, ...args: Parameters<Instance['subscribe']>) => instance.subscribe(...args),
  unsubscribe: (instance: Instance, ...args: Parameters<Instance['unsubscribe']>) =>
    instance.unsubscribe(...args),
  subscribers: (instance: Instance, ...args: Parameters<Instance['subscribers']>) =>
    instance.subscribers(...args),
  stats: (instance: Instance) => instance.stats(),
  queueStats: (instance: Instance, ...args: Parameters<Instance['queueStats']>) =>
    instance.queueStats(...args),
  waits: (instance: Instance) => instance.waits.snapshot(),
  browse,
} as const;

type AdminCalls = typeof adminCalls;
export type AdminCall = keyof AdminCalls;
export type AdminArguments<C extends AdminCall> =
  Parameters<AdminCalls[C]> extends [Instance, ...infer Rest] ? Rest : never;
export type AdminResult<C extends AdminCall> = Awaited<ReturnType<AdminCalls[C]>>;

/** A payload is bytes: in JSON it is base64. One in chunks is told where it lies, and read from there. */
export type BrowsedOnWire = Omit<BrowsedMessage, 'payload' | 'payloadStream'> & {
  payload: string;
  chunked?: ChunkedPayload;
};

/** In steps that fit an answer even if each message is as large as one may be, so a page may be shorter than asked. */
async function browse(
  instance: Instance,
  queue: string,
  options: Parameters<Instance['browse']>[1] = {},
): Promise<{ messages: BrowsedOnWire[]; next: string | null }> {
  const { limit = 100, ...rest } = options;
  const messages: BrowsedOnWire[] = [];
  let bytes = 0;
  let after = rest.after;
  for (;;) {
    const room = Math.floor((limits.browseBytesMax - bytes) / limits.payloadBytesMax);
    const step = Math.min(limit - messages.length, room);
    if (step < 1 && messages.length > 0) return { messages, next: after ?? null };
    const page = await instance.browse(queue, {
      ...rest,
      limit: step,
      ...(after === undefined ? {} : { after }),
    });
    for (const message of page.messages as (BrowsedMessage & { [chunkedPayload]?: ChunkedPayload })[]) {
      const chunked = message[chunkedPayload];
      messages.push({
        ...message,
        payload: message.payload.toString('base64'),
        ...(chunked !== undefined && { chunked }),
      });
      bytes += message.payload.length;
    }
    if (page.next === null) return { messages, next: null };
    after = page.next;
  }
}

export async function answerCall(instance: Instance, json: string): Promise<string> {
  let call: { method: AdminCall; args: unknown[] };
  try {
    call = JSON.parse(json) as typeof call;
  } catch {
    throw protocolError('A call is not JSON');
  }
  if (!Object.hasOwn(adminCalls, call.method) || !Array.isArray(call.args)) {
    throw new QueueError('PROTOCOL_INVALID', { sentence: `There is no call ${String(call.method)}` });
  }
  const method = adminCalls[call.method] as (instance: Instance, ...args: unknown[]) => unknown;
  return JSON.stringify((await method(instance, ...call.args)) ?? null);
}
