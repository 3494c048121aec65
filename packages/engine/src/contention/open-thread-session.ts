/** Opens a session of a shared queue on the calling thread. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { SharedQueueHandle, ThreadSession } from '../api/shared-queue.ts';
import { connectLink } from '../client/connect.ts';
import { invalidArgument } from '../model/call-arguments.ts';
import type { ThreadSessionNumber } from '../model/ids.ts';
import { nodePorts } from '../node-ports.ts';
import { openThreadClock } from '../node-thread-clock.ts';
import { QueueMemory, sessionStates } from './queue-memory.ts';
import { joinSharedMemory } from './session-parts.ts';
import { ThreadSessionClient } from './thread-session-client.ts';

/**
 * Returns once the instance answers. Each session has a connection of its own. Throws `SESSIONS_FULL`, `INSTANCE_UNREACHABLE`,
 * `INSTANCE_CLOSED`.
 */
export async function openThreadSession(handle: SharedQueueHandle): Promise<ThreadSession> {
  if (!(handle?.words instanceof SharedArrayBuffer))
    throw invalidArgument('handle', 'the handle of a shared queue', handle);
  const memory = new QueueMemory(handle, handle);
  const session = takeNumber(memory);
  const { machineClock: clock, thread } = nodePorts;
  const parts = joinSharedMemory(handle, { memory, session, clock, thread, threadClock: openThreadClock() });
  parts.trace?.clear();
  try {
    parts.object.assertOpen();
    const client = await connectLink({
      path: handle.path,
      connectMs: limits.connectMsDefault,
      ports: nodePorts,
    });
    return new ThreadSessionClient({ ...parts, queue: handle.queue, client, clock, thread });
  } catch (error) {
    parts.book.close();
    memory.store(memory.session(session, 'state'), sessionStates.indexOf('closed'));
    throw error;
  }
}

/** Numbers that no session had come first, so that what closed sessions counted can be read for longer. */
function takeNumber(memory: QueueMemory): ThreadSessionNumber {
  const open = sessionStates.indexOf('open');
  for (const state of ['free', 'closed'] as const) {
    const taken = sessionStates.indexOf(state);
    for (let session = 1; session <= memory.shape.sessionsMax; session += 1) {
      const at = memory.session(session, 'state');
      if (Atomics.compareExchange(memory.words, at, taken, open) === taken) return session;
    }
  }
  const { sessionsMax } = memory.shape;
  throw new QueueError('SESSIONS_FULL', {
    message: `The shared queue has all its ${sessionsMax} sessions open`,
    details: { sessionsMax },
  });
}
