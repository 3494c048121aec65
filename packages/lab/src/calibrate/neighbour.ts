/**
 * A process that hosts a second instance and commits single messages to the unsharded queue from `go` until `stop`: the
 * opponent in the measurement of a lock transfer. Ends with its parent.
 */
import { openInstance } from '@shardlab/engine';

export interface NeighbourOrder {
  type: 'open' | 'go' | 'stop';
  dir: string;
  queue: string;
  payloadBytes: number;
}

export type NeighbourReport = { type: 'opened' } | { type: 'stopped'; commits: number };

const report = (message: NeighbourReport) => process.send?.(message);
let running = false;
let instance: Awaited<ReturnType<typeof openInstance>> | undefined;

async function commitUntilStopped({ queue, payloadBytes }: NeighbourOrder): Promise<void> {
  const session = instance!.openSession();
  const payload = Buffer.alloc(payloadBytes, 0x5a);
  let commits = 0;
  running = true;
  while (running) {
    session.enqueue(queue, { payload });
    await session.commit();
    commits += 1;
  }
  await session.close();
  await instance!.close();
  report({ type: 'stopped', commits });
  process.disconnect?.();
}

process.on('message', async (order: NeighbourOrder) => {
  if (order.type === 'open') {
    instance = await openInstance({ dir: order.dir, instance: 2 });
    report({ type: 'opened' });
  } else if (order.type === 'go') await commitUntilStopped(order);
  else running = false;
});
process.on('disconnect', () => process.exit(0));
