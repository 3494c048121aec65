/**
 * Forwarding of one queue at one instance: when it asks others for messages, to whom it gives its own, and when what it
 * was given goes home. Messages move only where no local consumer is: none waits, and none has called for a while.
 *
 * All is decided anew by `#look`, whenever something may have changed; nothing is polled.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { logOf, ownerOf } from '../../core/shard-number.ts';
import type { LentRow } from '../../storage/forwarding-table.ts';
import type { BacklogReader } from '../backlog-reader.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { ShardReader } from '../shard-reader.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import type { Subscription } from '../subscription.ts';
import { Asking } from './asking.ts';
import { DeliveryWatch } from './delivery-watch.ts';
import type { Peer, ShardName } from './interconnect.ts';
import type { LandingPlace } from './landing.ts';
import type { Loan } from './loan.ts';
import { PeerWants } from './peer-wants.ts';
import { QueueLoans } from './queue-loans.ts';

export interface QueueForwardingHost {
  readonly instance: number;
  readonly group: GroupCommit;
  readonly backlog: BacklogReader;
  /** Without a call to dequeue for this long a queue has no consumer here. */
  idleMs(): number;
  /** The other instances that can be asked; none while there is no way to them. */
  peers(): readonly number[];
  peer(instance: number): Peer | undefined;
  nextBatchNo(): number;
  /** Resolves once no messages of the shard are about to be committed here. */
  landed(name: ShardName): Promise<void>;
  /** Whether messages may be handed out at all. */
  mayHandOut(): boolean;
  /** False once the instance is to leave the cluster. */
  takesMessages(): boolean;
  /** Does work that nobody waits for; what it throws is dealt with. */
  run(work: () => Promise<void>): Promise<void>;
}

export class QueueForwarding {
  readonly #queue: ShardedQueue;
  readonly #subscription: Subscription;
  readonly #host: QueueForwardingHost;
  readonly #ended = new AbortController();
  readonly #asking: Asking;
  readonly #peerWants = new PeerWants();
  readonly #loans: QueueLoans;
  /** Loans that go home or are being closed. */
  readonly #tended = new Set<Loan>();
  readonly #deliveries = new DeliveryWatch((shard) => this.isDelivered(shard));
  #lastCallAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** There is no way to others. */
  #resting = true;

  constructor(queue: ShardedQueue, host: QueueForwardingHost, rows: readonly LentRow[]) {
    this.#queue = queue;
    this.#subscription = queue.subscription(undefined);
    this.#host = host;
    this.#asking = new Asking({
      queueId: queue.row.queueId,
      peers: () => host.peers(),
      peer: (instance) => host.peer(instance),
      run: (work) => host.run(work),
      pause: () => this.#pause(),
      onAnswer: () => this.#look(),
    });
    this.#loans = new QueueLoans({
      queue,
      instance: host.instance,
      group: host.group,
      rows,
      host: {
        ended: this.#ended.signal,
        peer: (instance) => host.peer(instance),
        nextBatchNo: () => host.nextBatchNo(),
        read: (log) => this.#read(log),
        landed: (name) => host.landed(name),
        onChange: () => queue.serve(),
        run: (work) => host.run(work),
      },
    });
    // Those who waited for them before the instance opened may come back.
    if (queue.shards.some(({ backlog }) => backlog > 0)) this.#lastCallAt = performance.now();
  }

  /** A log was made that messages from elsewhere come to. */
  logAdded(no: number): void {
    this.#loans.of(logOf(no));
  }

  get movedOut(): number {
    return this.#loans.movedOut;
  }

  /** Nothing of it is under way, and nothing waits elsewhere for its turn. */
  get isAtRest(): boolean {
    return this.#loans.areAtRest;
  }

  /** A dequeue has found messages, or found none, or has ended. */
  onCall(found: boolean): void {
    this.#lastCallAt = performance.now();
    if (this.#loans.size > 0 || (!found && this.#host.peers().length > 0)) this.#look();
  }

  /** Messages may be ready: they were committed, came back, or may be delivered here again. */
  onReady(): void {
    if (this.#loans.size + this.#peerWants.size > 0) this.#look();
  }

  /** There is a way to others, or to another one. */
  onPeers(): void {
    this.#resting = false;
    for (const loan of this.#loans) void this.#host.run(() => loan.resume());
    this.#look();
  }

  /** A batch came, asked for or not. */
  onArrived(count: number): void {
    this.#asking.arrived(count);
    this.#look();
  }

  /** Another instance wants a batch. Resolves when it went, or is not wanted any more. */
  want(peer: number, max: number): Promise<void> {
    const spent = this.#peerWants.add(peer, max);
    this.#look();
    return spent;
  }

  unwant(peer: number): void {
    this.#peerWants.drop(peer);
  }

  /** The owner of a shard wants it back. */
  recall(shard: number): void {
    const loan = this.#loans.get(shard);
    if (loan?.goesHome) this.#sendHome(loan);
  }

  /** Where messages of a shard may come to; undefined while those before them are on their way home. */
  placeFor(shard: number): LandingPlace | undefined {
    const queue = this.#queue;
    if (ownerOf(shard) === this.#host.instance) return { queue, loan: this.#loans.of(shard) };
    const takes = this.#host.takesMessages() && (this.#loans.get(shard)?.state ?? 'home') === 'home';
    return takes ? { queue, loan: undefined } : undefined;
  }

  /** Resolves when all that came here of a shard was delivered, or went home. Rejects at the end of the queue. */
  delivered(shard: number): Promise<void> {
    return this.#deliveries.until(shard);
  }

  /** Whether nothing that came here of a shard waits for its first delivery. */
  isDelivered(shard: number): boolean {
    const loan = this.#loans.get(shard);
    return loan === undefined || (loan.state === 'home' && loan.ready === 0);
  }

  #look(): void {
    if (this.#resting || this.#looking || this.#ended.signal.aborted) return;
    this.#looking = true; // what is begun here may look by itself
    const nowMs = performance.now();
    const waits = this.#subscription.waiters.size > 0;
    const present = waits || nowMs - this.#lastCallAt < this.#host.idleMs();
    this.#deliveries.look();
    if (present) this.#askPeers();
    else {
      this.#asking.withdraw();
      this.#servePeers();
    }
    for (const loan of this.#loans) this.#tend(loan, { nowMs, waits, present });
    this.#arm(nowMs, present && !waits);
    this.#looking = false;
  }

  /** Consumers are here: asks others, unless there is something of its own. */
  #askPeers(): void {
    if (!this.#host.takesMessages()) return;
    let ready = 0;
    for (const reader of this.#subscription.readers) {
      if (reader.ready === 0 || reader.gate?.delivers(reader) === false) continue;
      if (!this.#loans.isForeign(reader.shard.no)) return;
      ready += reader.ready;
    }
    this.#asking.ask(ready);
  }

  /** No consumer is here: gives to those who have some. */
  #servePeers(): void {
    if (!this.#host.mayHandOut()) return;
    for (const instance of this.#peerWants.peers()) {
      const peer = this.#host.peer(instance);
      const loan = peer && this.#loans.nextFor(instance);
      if (peer !== undefined && loan !== undefined) void this.#host.run(() => this.#lend(loan, peer));
    }
  }

  async #lend(loan: Loan, peer: Peer): Promise<void> {
    const { max, spent } = this.#peerWants.take(peer.instance);
    try {
      // Without a pause the peer would ask again at once, to the same end.
      if ((await loan.lend(peer, max)) !== 'taken') await this.#pause();
    } catch (error) {
      await this.#pause();
      throw error;
    } finally {
      spent();
    }
  }

  #tend(loan: Loan, { nowMs, waits, present }: { nowMs: number; waits: boolean; present: boolean }): void {
    if (loan.goesHome) {
      // Once a part is home, the rest goes too.
      if (loan.state === 'open' || !present) this.#sendHome(loan);
    } else if (waits) loan.recall();
    else if (loan.state === 'open' && nowMs >= this.#closesAt(loan)) this.#once(loan, () => loan.close());
  }

  /** A loan stays open while its receiver goes on asking: opening it costs a commit before the first batch. */
  #closesAt({ receiver }: Loan): number {
    return this.#peerWants.lastAt(receiver) + this.#host.idleMs();
  }

  #sendHome(loan: Loan): void {
    const owner = this.#host.peer(ownerOf(loan.name.shard));
    if (owner === undefined) return;
    const log = loan.nextLog;
    const hasSome = log !== undefined && !(log.mustRead && this.#host.backlog.damageAhead(log));
    if (loan.state === 'open' || (loan.state === 'home' && hasSome)) {
      this.#once(loan, () => loan.goHome(owner));
    }
  }

  /** After a failure the next attempt waits. */
  #once(loan: Loan, work: () => Promise<void>): void {
    if (loan.busy || this.#tended.has(loan)) return;
    this.#tended.add(loan);
    void this.#host.run(async () => {
      try {
        await work();
      } catch (error) {
        await this.#pause();
        throw error;
      } finally {
        this.#tended.delete(loan);
        this.#look();
      }
    });
  }

  /** Looks again when consumers may be gone, or a loan may be closed. */
  #arm(nowMs: number, mayGoIdle: boolean): void {
    let atMs = mayGoIdle ? this.#lastCallAt + this.#host.idleMs() : Number.POSITIVE_INFINITY;
    for (const loan of this.#loans) {
      if (loan.state === 'open' && !loan.busy) atMs = Math.min(atMs, this.#closesAt(loan));
    }
    clearTimeout(this.#timer);
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#look(), Math.max(1, atMs - nowMs + 1)).unref();
  }

  /** Undefined if nothing can be read: it is damaged. A read that ended is told by `onReady`. */
  #read(log: ShardReader): Promise<void> | undefined {
    this.#host.backlog.ahead(log);
    const read = this.#host.backlog.under([log]);
    read?.catch(() => undefined); // the backlog tells it to whoever waits
    return read;
  }

  #pause(): Promise<void> {
    return pause(limits.forwardRetryMs, undefined, { signal: this.#ended.signal, ref: false });
  }

  /** The way to the others is about to go: nothing is begun until there is one again. */
  async rest(): Promise<void> {
    this.#resting = true;
    await Promise.allSettled([...this.#loans].map((loan) => loan.rest()));
  }

  /** The queue was dropped, or the instance ends. */
  end(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#peerWants.dropAll();
    this.#deliveries.end(new QueueError('INSTANCE_CLOSED'));
  }
}
