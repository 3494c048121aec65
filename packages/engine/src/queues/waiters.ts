/** Calls that wait for messages of one queue, in order of arrival. The code that gets messages finishes them in turn. */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import { registerWaitEvent, type WaitEvent } from '../api/waits.ts';
import type { Ports } from '../model/ports.ts';
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';

export const waitingForMessages = registerWaitEvent({
  name: 'waiting for messages',
  class: 'idle',
  standsFor: 'Streams AQ: waiting for messages in the queue',
  about: 'a dequeue on an empty queue',
});

export interface Waiter<Request> {
  readonly request: Request;
  /** False once the wait has ended. */
  readonly isWaiting: boolean;
  /**
   * Messages are being fetched for the call: its timeout does not end the wait until they arrive, or until `resume` reports that
   * there are none.
   */
  expect(): void;
  resume(): void;
  /** Ends the wait. Returns false if it had ended already: then no caller got `outcome`. */
  finish(outcome: Message[] | QueueError): boolean;
}

export interface WaitOptions {
  waitMs: number;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
  /** Time book of the waiting session, if a session waits. */
  time?: RecordedTime | undefined;
}

export type WaiterPorts = Pick<Ports, 'clock' | 'timers'>;

export class Waiters<Request> {
  readonly #waiting = new Set<Waiter<Request>>();
  readonly #waits: WaitRecorder;
  readonly #ports: WaiterPorts;
  #closedCode: QueueErrorCode | undefined;

  constructor(waits: WaitRecorder, ports: WaiterPorts) {
    this.#waits = waits;
    this.#ports = ports;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits up to `waitMs`. Resolves with an empty list if nothing came by then, or if `signal` aborts the wait. */
  wait(
    request: Request,
    { waitMs, signal, time }: WaitOptions,
    event: WaitEvent = waitingForMessages,
  ): Promise<Message[]> {
    if (this.#closedCode !== undefined) return Promise.reject(new QueueError(this.#closedCode));
    if (signal?.aborted) return Promise.resolve([]);
    if (this.#waiting.size >= limits.waitersMax) {
      const message = `Too many calls wait for this queue (limit ${limits.waitersMax})`;
      return Promise.reject(new QueueError('WAITERS_FULL', { message }));
    }
    const { clock, timers } = this.#ports;
    const startedAtMs = clock.monotonicMs();
    time?.begin(event);
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting;
      let isExpecting = false;
      let isOverdue = false;
      const waiter: Waiter<Request> = {
        request,
        get isWaiting() {
          return waiting.has(waiter);
        },
        expect: () => {
          isExpecting = true;
        },
        resume: () => {
          isExpecting = false;
          if (isOverdue) giveUp();
        },
        finish: (outcome) => {
          if (!this.#waiting.delete(waiter)) return false;
          timer.cancel();
          signal?.removeEventListener('abort', giveUp);
          if (time === undefined) this.#waits.record(event, clock.monotonicMs() - startedAtMs);
          else time.end();
          if (outcome instanceof QueueError) reject(outcome);
          else resolve(outcome);
          return true;
        },
      };
      const giveUp = () => waiter.finish([]);
      const timer = timers.deadline(waitMs, () => {
        if (isExpecting) isOverdue = true;
        else giveUp();
      });
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiter);
    });
  }

  [Symbol.iterator](): Iterator<Waiter<Request>> {
    return this.#waiting.values();
  }

  rejectAll(reason: QueueErrorCode | QueueError): void {
    const error = reason instanceof QueueError ? reason : new QueueError(reason);
    for (const waiter of this.#waiting) waiter.finish(error);
  }

  /** Rejects all waiting calls, and later ones: a call may be about to wait. */
  close(code: QueueErrorCode): void {
    this.#closedCode = code;
    this.rejectAll(code);
  }
}
