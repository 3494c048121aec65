/** The parameters of a session's dequeue, dequeueNow or receive. */

import { limits } from '../api/limits.ts';
import type { ReceiveOptions } from '../api/session.ts';
import { assertFields } from '../model/call-arguments.ts';
import { dequeueFields, receiveFields } from '../model/call-fields.ts';
import type { RemoteSessionNumber } from '../model/ids.ts';
import { validateBytesMax, validateHoldMs, validateMaxAndWait } from '../model/session-calls.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { assertText, requests } from '../wire/protocol.ts';

export interface DeliveryRequest extends Required<Pick<ReceiveOptions, 'max' | 'waitMs' | 'holdMs'>> {
  /** 0: no bound. */
  bytesMax: number;
  kind: number;
  queue: string;
  subscriber: string | undefined;
  signal: AbortSignal | undefined;
}

/** Throws `OPTIONS_INVALID`. */
export function validateDeliveryRequest(
  kind: number,
  queue: string,
  options: ReceiveOptions,
): DeliveryRequest {
  assertFields(options, kind === requests.receive ? receiveFields : dequeueFields);
  const { max = 1, waitMs = 0, holdMs = limits.holdMsDefault, bytesMax, subscriber, signal } = options;
  assertText('queue', queue);
  if (subscriber !== undefined) assertText('subscriber', subscriber);
  validateMaxAndWait(max, waitMs);
  if (kind === requests.receive) validateHoldMs(holdMs);
  if (bytesMax !== undefined) validateBytesMax(bytesMax);
  return { kind, queue, max, waitMs, holdMs, bytesMax: bytesMax ?? 0, subscriber, signal };
}

export function writeDeliveryRequest(
  writer: FrameWriter,
  sessionNumber: RemoteSessionNumber,
  { max, waitMs, holdMs, bytesMax, queue, subscriber }: DeliveryRequest,
): void {
  writer.u32(sessionNumber);
  writer.u32(max);
  writer.u32(waitMs);
  writer.u32(holdMs);
  writer.u32(bytesMax);
  writer.text(queue);
  if (subscriber !== undefined) writer.text(subscriber);
}
