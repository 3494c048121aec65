/**
 * An impostor that runs: its sessions keep their messages in an array in the memory of their process, and say of each commit that it
 * was synced. It is written by somebody who knows what the harness compares. Its time books add up, because its commits do wait: for a
 * timer, under the name of a log file sync. Its syncs, and the times of a writer that it does not have, fit these waits.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  commitWriteMs,
  logFileSync,
  type QueueInfo,
  type Session,
  type WaitEvent,
  waitingForMessages,
  writeLock,
} from '@shardlab/engine';
import type { Clock } from '../../meters/clock.ts';
import type { Host } from '../../programs/queue/trial/host.ts';
import { NullInstance } from '../../programs/queue/trial/null-instance.ts';
import type { WorkerConfig } from '../../programs/queue/trial/protocol.ts';

/** How long a commit waits for nothing by default, and a dequeue looks for messages again. */
const pauseMs = 1;

export interface Pretence {
  /** Operations that it lets through in a second, enqueues and dequeues together; default: all. */
  operationsPerSec?: number;
  /** Whether this limits each session, instead of all of them together. */
  eachSession?: boolean;
  /** How long a commit waits for nothing, milliseconds. */
  commitMs?: number;
  /** Called with the payloads of each commit. */
  write?(payloads: readonly Buffer[]): void;
}

export function openMemoryArray(
  { instance }: WorkerConfig,
  clock: Clock,
  {
    operationsPerSec = Number.POSITIVE_INFINITY,
    eachSession = false,
    commitMs = pauseMs,
    write = () => undefined,
  }: Pretence = {},
): Host {
  const array = new NullInstance(clock);
  let syncs = 0;

  /** Makes a limiter, which returns in how many milliseconds it lets the operations through. */
  function makeLimiter() {
    let freeAtMs = 0;
    return (operations: number): number => {
      freeAtMs = Math.max(freeAtMs, clock()) + (operations * 1000) / operationsPerSec;
      return freeAtMs - clock();
    };
  }
  const sharedLimiter = makeLimiter();

  function openSession(): Session {
    const limitMs = eachSession ? makeLimiter() : sharedLimiter;
    const session = array.openSession();
    const time = session.time!;
    let enqueued: Buffer[] = [];
    let dequeued = 0;
    const wait = async (event: WaitEvent, ms: number) => {
      time.begin(event);
      await pause(ms);
      time.end();
    };
    const impostor: Partial<Session> = {
      time,
      enqueue: (queue, message) => {
        enqueued.push(message.payload as Buffer);
        return session.enqueue(queue, message);
      },
      dequeue: async (queue, options) => {
        if ((options?.waitMs ?? 0) > 0) await wait(waitingForMessages, pauseMs);
        const messages = await session.dequeue(queue, options);
        dequeued += messages.length;
        return messages;
      },
      commit: async () => {
        const payloads = enqueued;
        const lateMs = limitMs(payloads.length + dequeued);
        enqueued = [];
        dequeued = 0;
        if (lateMs > pauseMs) await wait(writeLock, lateMs);
        const fromMs = clock();
        write(payloads);
        await wait(logFileSync, commitMs);
        array.waits.add(commitWriteMs, clock() - fromMs);
        syncs += 1;
        return session.commit();
      },
      close: () => session.close(),
    };
    return impostor as Session;
  }

  return {
    id: instance,
    waits: array.waits,
    traces: {
      tracedMessages: () => [],
      messageTrace: () => Promise.reject(new RangeError('no message is traced')),
    },
    eventOfCalls: undefined,
    timeOf: (session) => session.time!,
    writerCpuUs: () => 0,
    openSession,
    createQueue: async ({ name }) => ({ name }) as QueueInfo,
    subscribe: () => Promise.reject(new RangeError('an array has no subscribers')),
    browse: async (queue) => {
      const left = await array.openSession().dequeue(queue, { max: Number.POSITIVE_INFINITY });
      return { messages: left.map((message) => ({ ...message, state: 'ready' as const })), next: null };
    },
    close: async () => {},
    shards: () => [],
    syncs: () => syncs,
    waitingCount: () => array.waitingCount(),
  };
}
