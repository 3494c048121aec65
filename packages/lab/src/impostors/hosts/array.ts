/**
 * An impostor that runs: its sessions keep their messages in an array in the memory of their process, and say of each commit that it
 * was synced. It is written by somebody who knows what the harness compares. Its time books add up, because its commits do wait: for a
 * timer, under the name of a log file sync. Its syncs, and the times of a writer that it does not have, fit these waits.
 */
import { openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import {
  commitWriteMs,
  logFileSync,
  type QueueInfo,
  type Session,
  waitingForMessages,
} from '@shardlab/engine';
import type { Host, OpenHost } from '../../programs/queue/trial/host.ts';
import { NullInstance } from '../../programs/queue/trial/null-instance.ts';
import { type HostSettings, pretenceOf } from '../pretence.ts';
import { pretendingSessions, waitFor } from './pretending-session.ts';

/** The shortest wait of a commit, and the pause of an empty dequeue before it looks again. */
const pauseMs = 1;

export const openHost: OpenHost = async ({ instance, otherHost }, clock): Promise<Host> => {
  const { behaviour, params, discards } = otherHost!.settings as HostSettings;
  const pretence = pretenceOf(behaviour, params, instance);
  const array = new NullInstance(clock);
  const nowhere = discards === true ? openSync(devNull, 'w') : undefined;
  const commitMs = Math.max(pauseMs, pretence.commitMs);
  let syncs = 0;

  function openArraySession(): Session {
    const session = array.openSession();
    const time = session.time!;
    const arraySession: Partial<Session> = {
      time,
      enqueue: (queue, message) => {
        if (nowhere !== undefined) writeSync(nowhere, message.payload as Buffer);
        return session.enqueue(queue, message);
      },
      dequeue: async (queue, options) => {
        if ((options?.waitMs ?? 0) > 0) await waitFor(time, waitingForMessages, pauseMs);
        return session.dequeue(queue, options);
      },
      commit: async () => {
        const fromMs = clock();
        await waitFor(time, logFileSync, commitMs);
        array.waits.add(commitWriteMs, clock() - fromMs);
        syncs += 1;
        return session.commit();
      },
      close: () => session.close(),
    };
    return arraySession as Session;
  }
  const pretend = pretendingSessions(pretence, clock, array.waits);

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
    openSession: () => pretend(openArraySession()),
    createQueue: async ({ name }) => ({ name }) as QueueInfo,
    subscribe: () => Promise.reject(new RangeError('an array has no subscribers')),
    // What is left after a trial; nothing uses the array afterwards.
    browse: async (queue) => {
      const left = await array.openSession().dequeue(queue, { max: Number.POSITIVE_INFINITY });
      return { messages: left.map((message) => ({ ...message, state: 'ready' as const })), next: null };
    },
    close: async () => {},
    shards: () => [],
    syncs: () => syncs,
    waitingCount: () => array.waitingCount(),
  };
};
