/** Two instances of one cluster in simulated time, which reach each other over a simulated interconnect. */
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';

export type TwoSimulated = ReturnType<typeof openTwoSimulated>;

export function openTwoSimulated() {
  const scheduler = new Scheduler();
  const chance = new Chance(1);
  const network = new SimulatedNetwork(scheduler, chance, () => undefined);
  const open = (instance: number) => {
    const simulated = new SimulatedInstance({
      instance,
      instances: [instance], // With one instance nothing is forwarded.
      scheduler,
      chance,
      network,
      queues: simulatedQueues,
      cacheBytesMax: 1_000_000,
      partitionMessagesMax: 10,
      consumerIdleMs: 500,
    });
    simulated.open();
    return simulated;
  };
  /** Advances time and lets all calls proceed. */
  const advance = async (ms: number) => {
    const untilMs = scheduler.nowMs + ms;
    await drainPromises();
    while (scheduler.runNext(untilMs)) await drainPromises();
    scheduler.moveTo(untilMs);
  };
  const finish = async <T>(call: Promise<T>): Promise<T> => {
    call.catch(() => undefined);
    await advance(500);
    return call;
  };
  return { home: open(1), other: open(2), advance, finish, network };
}
