/**
 * An impostor that runs: its sessions keep their messages in arrays in the memory of their process, and say of each commit that it
 * was synced. It is written by somebody who knows what the harness compares. Its time books add up, because its commits do wait: for a
 * timer, under the name of a log file sync. Its syncs, and the times of a writer that it does not have, fit these waits.
 */
import { openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import {
  commitWriteMs,
  logFileSync,
  type Message,
  type QueueInfo,
  type Session,
  type SubscriberInfo,
  WaitRecorder,
  waitingForMessages,
} from '@shardlab/engine';
import type { Host, OpenHost } from '../../programs/queue/trial/host.ts';
import { type HostSettings, pretenceOf } from '../pretence.ts';
import { pretendingSessions, waitFor } from './pretending-session.ts';

/** The shortest wait of a commit, and the pause of an empty dequeue before it looks again. */
const pauseMs = 1;

/** The messages of a queue, or of a topic, of which each subscriber gets all. */
class MessageArray {
  readonly #payloads: Buffer[] = [];
  /** By subscriber; a queue has one without a name. */
  readonly #taken = new Map<string | undefined, number>();

  push(payload: Buffer): void {
    this.#payloads.push(payload);
  }

  waitingCount(subscriber: string | undefined): number {
    return this.#payloads.length - (this.#taken.get(subscriber) ?? 0);
  }

  take(subscriber: string | undefined, max: number): Message[] {
    const from = this.#taken.get(subscriber) ?? 0;
    const payloads = this.#payloads.slice(from, from + max);
    this.#taken.set(subscriber, from + payloads.length);
    return payloads.map((payload) => {
      const message = { id: '', payload, enqueuedAtMs: 0, deliveryCount: 1, receipt: '' };
      return message as unknown as Message;
    });
  }
}

export const openHost: OpenHost = async ({ instance, otherHost }, clock): Promise<Host> => {
  const { behaviour, params, discards } = otherHost!.settings as HostSettings;
  const pretence = pretenceOf(behaviour, params, instance);
  const waits = new WaitRecorder({ clock: { monotonicMs: clock } });
  const arrays = new Map<string, MessageArray>();
  const nowhere = discards === true ? openSync(devNull, 'w') : undefined;
  const commitMs = Math.max(pauseMs, pretence.commitMs);
  let syncs = 0;

  function arrayOf(queue: string): MessageArray {
    const array = arrays.get(queue) ?? new MessageArray();
    arrays.set(queue, array);
    return array;
  }

  function openArraySession(): Session {
    let staged: { array: MessageArray; payload: Buffer }[] = [];
    const time = waits.openSession();
    const session: Partial<Session> = {
      time,
      enqueue: (queue, message) => {
        const payload = message.payload as Buffer;
        if (nowhere !== undefined) writeSync(nowhere, payload);
        staged.push({ array: arrayOf(queue), payload });
      },
      dequeue: async (queue, { max = 1, waitMs = 0, subscriber } = {}) => {
        if (waitMs > 0) await waitFor(time, waitingForMessages, pauseMs);
        time.answer();
        return arrayOf(queue).take(subscriber, max);
      },
      commit: async () => {
        const fromMs = clock();
        await waitFor(time, logFileSync, commitMs);
        waits.add(commitWriteMs, clock() - fromMs);
        syncs += 1;
        for (const { array, payload } of staged) array.push(payload);
        staged = [];
        time.answer();
        return { ids: [], results: [], replayed: false };
      },
      close: async () => time.close(),
    };
    return session as Session;
  }
  const pretend = pretendingSessions(pretence, clock, waits);

  return {
    id: instance,
    waits,
    traces: {
      tracedMessages: () => [],
      messageTrace: () => Promise.reject(new RangeError('no message is traced')),
    },
    eventOfCalls: undefined,
    timeOf: (session) => session.time!,
    writerCpuUs: () => 0,
    openSession: () => pretend(openArraySession()),
    createQueue: async ({ name }) => ({ name }) as QueueInfo,
    subscribe: async (_, { name }) => ({ name }) as SubscriberInfo,
    // What is left after a trial; nothing uses the array afterwards.
    browse: async (queue, { subscriber } = {}) => {
      const left = arrayOf(queue).take(subscriber, Number.POSITIVE_INFINITY);
      return { messages: left.map((message) => ({ ...message, state: 'ready' as const })), next: null };
    },
    close: async () => {},
    shards: () => [],
    syncs: () => syncs,
    waitingCount: async ({ queue, subscriber }) => arrayOf(queue).waitingCount(subscriber),
  };
};
