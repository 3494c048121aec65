/** A worker thread with one session of a shared queue. It makes the calls that it is sent, one after the other. */
import { parentPort, workerData } from 'node:worker_threads';
import { openThreadSession, type SharedQueueHandle, type ThreadSession } from '../../src/index.ts';

export interface SessionCall {
  method: keyof Omit<ThreadSession, 'id'>;
  args: unknown[];
}

const session = await openThreadSession(workerData as SharedQueueHandle);
parentPort!.on('message', async ({ method, args }: SessionCall) => {
  try {
    const call = session[method] as (...given: unknown[]) => Promise<unknown>;
    const result = await call.apply(session, args);
    // A message cannot be posted as it is, so its payload stands for it.
    const value =
      method === 'dequeue' && result !== undefined
        ? (result as { payload: Buffer }).payload.toString()
        : result;
    parentPort!.postMessage({ value });
  } catch (error) {
    const { code, message, details } = error as Error & { code?: string; details?: unknown };
    parentPort!.postMessage({ error: { code, message, details } });
  }
});
parentPort!.postMessage({ value: session.id });
