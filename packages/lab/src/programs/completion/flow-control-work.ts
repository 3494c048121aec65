/** Enqueues without dequeuing until flow control refuses, dequeues what was accepted, and enqueues again. */

import { SessionWindow } from '../../meters/session-window.ts';
import { EnqueueRefused } from '../../systems/driver/driver.ts';
import { yieldToEventLoop } from '../../systems/driver/yield-to-event-loop.ts';
import { timeFigures } from '../queue/trial/time-figures.ts';
import type { FlowControlWork } from './client-job.ts';
import type { Measured, WorkContext } from './completion-work.ts';

export async function runFlowControl(
  { attempts }: FlowControlWork,
  { client, book, enqueuers, deliveries, drainMs, onMeasure }: WorkContext,
): Promise<Measured> {
  onMeasure?.();
  const sessions = new SessionWindow(client.waits ?? book);
  const startMs = performance.now();
  const isAccepted = () =>
    enqueuers.enqueueOne(0).then(
      () => true,
      (error: unknown) => {
        if (error instanceof EnqueueRefused) return false;
        throw error;
      },
    );
  let accepted = 0;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (await isAccepted()) accepted += 1;
    await yieldToEventLoop();
  }
  const delivered = async (messages: number) => {
    const consumption = await client.consume({ consumers: 1, operations: 1, deliveries, book });
    await deliveries.whenConsumed(messages, drainMs);
    await consumption.stop();
    return deliveries.count;
  };
  const deliveredFirst = await delivered(accepted);
  const isAcceptedAgain = await isAccepted();
  await delivered(accepted + (isAcceptedAgain ? 1 : 0));
  sessions.close();
  const spent = sessions.result();
  return {
    figures: {
      accepted,
      refused: attempts - accepted,
      delivered: deliveredFirst,
      acceptedAfterDrain: isAcceptedAgain ? 1 : 0,
      ...timeFigures([spent]),
    },
    measuredMs: performance.now() - startMs,
    waits: spent.waits,
  };
}
