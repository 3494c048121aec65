/** The requests between simulated instances, for forwarding and distributed transactions. They take time, and are lost when connections break. */
import { QueueError } from '../../src/api/errors.ts';
import type { InstanceForwarding } from '../../src/forwarding/instance-forwarding.ts';
import type { Interconnect, Peer } from '../../src/forwarding/interconnect.ts';
import type { BatchSender } from '../../src/model/forwarded-batch.ts';
import type { Branches } from '../../src/xa/branches.ts';
import type { BranchPeers } from '../../src/xa/passed-on-calls.ts';
import type { HomeCaller } from '../../src/xa/tight/home-caller.ts';
import type { HomeInstances, HomePeers } from '../../src/xa/tight/home-instances.ts';
import type { Chance, Scheduler } from './scheduler.ts';

/** The network's view of one opening of an instance. */
export interface NetworkEnd {
  instance: number;
  forwarding: InstanceForwarding;
  homeInstances: HomeInstances;
  branches: Pick<Branches, 'answer'>;
  alive: boolean;
}

interface Call {
  lost: boolean;
  reject(error: QueueError): void;
}

/** The connection from one opening of an instance to one opening of another. */
class Connection {
  readonly from: NetworkEnd;
  readonly to: NetworkEnd;
  readonly number: number;
  readonly calls = new Set<Call>();
  open = true;
  readonly home: HomeCaller;
  /** Requests arrive in the order in which they were sent. */
  lastArrivalMs = 0;

  constructor(from: NetworkEnd, to: NetworkEnd) {
    this.from = from;
    this.to = to;
    this.number = from.forwarding.nextConnectionNumber();
    this.home = to.homeInstances.openCaller();
  }
}

export class SimulatedNetwork {
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #ends = new Map<number, NetworkEnd>();
  readonly #connections = new Map<string, Connection>();
  /** The time before which no connection can be opened. */
  #brokenUntilMs = 0;
  readonly #onTrace: (line: string) => void;

  constructor(scheduler: Scheduler, chance: Chance, onTrace: (line: string) => void) {
    this.#scheduler = scheduler;
    this.#chance = chance;
    this.#onTrace = onTrace;
  }

  attach(end: NetworkEnd): void {
    this.#ends.set(end.instance, end);
  }

  detach(end: NetworkEnd): void {
    end.alive = false;
    this.#ends.delete(end.instance);
    for (const connection of [...this.#connections.values()]) {
      if (connection.from === end || connection.to === end) this.#cut(connection);
    }
  }

  /** Cuts all connections, and lets no new ones be opened for a while. */
  cutAll(forMs: number): void {
    this.#brokenUntilMs = this.#scheduler.nowMs + forMs;
    for (const connection of [...this.#connections.values()]) this.#cut(connection);
  }

  /** Requests on their way are lost, or arrive late when their sender no longer waits for the answer. */
  #cut(connection: Connection): void {
    connection.open = false;
    this.#connections.delete(keyOf(connection.from.instance, connection.to.instance));
    for (const call of connection.calls) {
      call.lost = this.#chance.percent(50);
      call.reject(new QueueError('INSTANCE_UNREACHABLE'));
    }
    const { from, to } = connection;
    if (to.alive) {
      this.#scheduler.after(this.#chance.below(20), () => {
        if (!to.alive) return;
        to.forwarding.cancelRequest(from.instance);
        connection.home.end();
      });
    }
  }

  interconnectOf(
    from: NetworkEnd,
    instances: readonly number[],
    consumerIdleMs: number,
  ): Interconnect & HomePeers & BranchPeers {
    const others = instances.filter((instance) => instance !== from.instance);
    const peers = new Map(others.map((instance) => [instance, this.#peer(from, instance)]));
    return {
      consumerIdleMs,
      peers: () => others,
      peer: (instance) => peers.get(instance)!,
      callHome: (home, call) => this.#call(from, home, (_to, _sender, caller) => caller.call(call)),
      callBranch: (instance, call) => this.#call(from, instance, (to) => to.branches.answer(call)),
    };
  }

  #peer(from: NetworkEnd, instance: number): Peer {
    const call = <T>(work: (to: NetworkEnd, sender: BatchSender) => Promise<T>) =>
      this.#call(from, instance, work);
    return {
      instance,
      requestBatch: (queueId, messagesMax) =>
        call((to) => to.forwarding.requestBatch(from.instance, queueId, messagesMax)),
      cancelRequest: (queueId) => {
        if (!this.#connections.has(keyOf(from.instance, instance))) return;
        call(async (to) => to.forwarding.cancelRequest(from.instance, queueId)).catch(() => undefined);
      },
      forward: async (batch) => {
        const name = `batch ${batch.batchNumber} of queue ${batch.queueId}, shard ${batch.shard}, to ${instance}`;
        this.#onTrace(`${name}: ${batch.records.count} messages`);
        const accepted = await call((to, sender) => to.forwarding.acceptBatch(sender, batch, 0));
        this.#onTrace(`${name}: ${accepted ? 'accepted' : 'refused'}`);
        return accepted;
      },
      reportReceived: async (shard, { whenDelivered }) => {
        const report = await call((to, sender) => to.forwarding.reportReceived(sender, shard, whenDelivered));
        const { queueId, shard: id } = shard;
        this.#onTrace(
          `report on queue ${queueId}, shard ${id}, from ${instance}: batch ${report.batchNumber}`,
        );
        return report;
      },
      recall: (shard) => call(async (to) => to.forwarding.recall(shard)),
    };
  }

  #call<T>(
    from: NetworkEnd,
    instance: number,
    work: (to: NetworkEnd, sender: BatchSender, home: HomeCaller) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connect(from, instance);
    if (connection === undefined) return Promise.reject(new QueueError('INSTANCE_UNREACHABLE'));
    const { to, number: connectionNumber } = connection;
    const sender = { instance: from.instance, epoch: from.forwarding.epoch, connectionNumber };
    return new Promise<T>((resolve, reject) => {
      const call: Call = { lost: false, reject };
      connection.calls.add(call);
      const answer = (settle: () => void) => {
        this.#scheduler.after(this.#chance.below(4), () => {
          if (!connection.open || !from.alive) return;
          connection.calls.delete(call);
          settle();
        });
      };
      const arrive = () => {
        if (call.lost || !to.alive) return;
        work(to, sender, connection.home).then(
          (result) => answer(() => resolve(result)),
          (error) => answer(() => reject(error)),
        );
      };
      const arrivalMs = Math.max(connection.lastArrivalMs, this.#scheduler.nowMs + this.#chance.below(4));
      connection.lastArrivalMs = arrivalMs;
      this.#scheduler.at(arrivalMs, () => {
        if (connection.open) arrive();
        else this.#scheduler.after(this.#chance.below(30), arrive);
      });
    });
  }

  #connect(from: NetworkEnd, instance: number): Connection | undefined {
    const to = this.#ends.get(instance);
    if (!from.alive || to === undefined || this.#scheduler.nowMs < this.#brokenUntilMs) return undefined;
    const key = keyOf(from.instance, instance);
    let connection = this.#connections.get(key);
    if (connection === undefined) {
      connection = new Connection(from, to);
      this.#connections.set(key, connection);
    }
    return connection;
  }
}

function keyOf(from: number, to: number): string {
  return `${from} ${to}`;
}
