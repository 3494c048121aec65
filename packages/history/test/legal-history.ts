/** Legal histories from a reference model: sessions on a queue that does what it promises, with kills and lost answers. */
import type { DeliveredMessage, Delivery, EnqueuedMessage, Operation, Transaction } from '../src/index.ts';

/** Reproducible random numbers (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % end;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/** A committed message, or the copy of it that one subscriber of a topic gets. */
interface Stored {
  item: EnqueuedMessage;
  subscriber: string | undefined;
  number: number;
  queue: string;
  deliveries: number;
  heldBy: Held | undefined;
}

interface Held {
  session: Session;
  delivery: Delivery;
  stored: Stored[];
  expiresAt: number;
}

interface Session {
  name: string;
  process: string;
  freeAt: number;
  held: Held | undefined;
}

const subscribers = ['east', 'west'];
const lagMax = 3_000;
const nsPerMs = 1e6;
const attemptsMax = 2;

/**
 * Draws a history. Its queues are `plain` and `lanes`, which deliver in order, `poison` with an exception queue, `timed` with
 * timed holds, and `topic`.
 */
export class LegalHistory {
  readonly operations: Operation[] = [];
  readonly #chance: Chance;
  #now = 1_000_000;
  #stored: Stored[] = [];
  #sessions: Session[] = [];
  #names = 0;
  #ids = 0;
  #kills = 0;

  constructor(seed: number, steps: number) {
    this.#chance = new Chance(seed);
    this.#declare();
    this.#startSessions();
    for (let step = 0; step < steps; step += 1) this.#step();
    this.#kill();
    this.#inspect();
  }

  #declare(): void {
    const common = { start: 1, end: 2, process: 'p', outcome: 'ok' } as const;
    const queue = (name: string, more: object) =>
      this.operations.push({
        ...common,
        id: this.#id(),
        type: 'queue',
        queue: name,
        ordered: true,
        ...more,
      });
    queue('plain', {});
    queue('lanes', { priorities: true });
    queue('poison', { ordered: false, exceptions: 'poison.exceptions' });
    queue('timed', { ordered: false });
    queue('topic', { topic: true });
    for (const subscriber of subscribers)
      this.operations.push({ ...common, id: this.#id(), type: 'subscribe', queue: 'topic', subscriber });
  }

  #id(): string {
    this.#ids += 1;
    return `o${this.#ids}`;
  }

  #startSessions(): void {
    const process = `p${this.#kills}`;
    this.#sessions = Array.from({ length: 4 }, (_, index) => {
      return { name: `${process}-${index}`, process, freeAt: this.#now, held: undefined };
    });
  }

  #step(): void {
    this.#now += 1 + this.#chance.below(1_000);
    for (const { heldBy } of this.#stored)
      if (heldBy !== undefined && heldBy.expiresAt <= this.#now) this.#end(heldBy);
    if (this.#chance.below(60) === 0) {
      this.#kill();
      if (this.#chance.below(2) === 0) this.#inspect();
      return;
    }
    const session = this.#chance.pick(this.#sessions);
    if (session.freeAt >= this.#now) return;
    if (session.held === undefined && this.#chance.below(2) === 0) this.#deliver(session);
    else this.#commit(session);
  }

  #end(held: Held): void {
    for (const stored of held.stored) if (stored.heldBy === held) stored.heldBy = undefined;
    if (held.session.held === held && held.delivery.holdMs === undefined) held.session.held = undefined;
  }

  /** Fields of an operation that takes effect now: it starts a random time before and ends a random time after. */
  #around(session: Session): { id: string; process: string; start: number; end: number; outcome: 'ok' } {
    const start = Math.max(session.freeAt + 1, this.#now - this.#chance.below(lagMax));
    const end = this.#now + 1 + this.#chance.below(lagMax);
    session.freeAt = end;
    return { id: this.#id(), process: session.process, start, end, outcome: 'ok' };
  }

  #newMessages(session: Session): EnqueuedMessage[] {
    const queue = this.#chance.pick(['plain', 'plain', 'lanes', 'poison', 'timed', 'topic']);
    return Array.from({ length: 1 + this.#chance.below(3) }, () => {
      this.#names += 1;
      const item: EnqueuedMessage = {
        queue,
        message: `m${this.#names}`,
        stream: session.name,
        digest: `d${this.#names}`,
      };
      if (queue === 'lanes') item.priority = this.#chance.below(3);
      if (queue === 'topic' && this.#chance.below(3) === 0)
        item.recipients = [this.#chance.pick(subscribers)];
      return item;
    });
  }

  #deliver(session: Session): void {
    const queue = this.#chance.pick([
      'plain',
      'plain',
      'lanes',
      'poison',
      'poison.exceptions',
      'timed',
      'topic',
    ]);
    const subscriber = queue === 'topic' ? this.#chance.pick(subscribers) : undefined;
    const max = 1 + this.#chance.below(4);
    const ready = this.#stored
      .filter((each) => each.queue === queue && each.subscriber === subscriber && each.heldBy === undefined)
      .sort((a, b) => (b.item.priority ?? 0) - (a.item.priority ?? 0) || a.number - b.number)
      .slice(0, max);
    const messages = ready.map(({ item: { message, digest } }): DeliveredMessage => ({ message, digest }));
    const delivery: Delivery = {
      ...this.#around(session),
      type: 'delivery',
      queue,
      subscriber,
      max,
      messages,
    };
    if (queue === 'timed') delivery.holdMs = 0.002 * (1 + this.#chance.below(4));
    this.operations.push(delivery);
    if (ready.length === 0) return;
    const expiresAt =
      delivery.holdMs === undefined ? Number.POSITIVE_INFINITY : this.#now + delivery.holdMs * nsPerMs;
    const held: Held = { session, delivery, stored: ready, expiresAt };
    for (const stored of ready) {
      stored.heldBy = held;
      stored.deliveries += 1;
    }
    session.held = held;
  }

  #commit(session: Session): void {
    const { held } = session;
    session.held = undefined;
    const enqueues = held === undefined || this.#chance.below(3) === 0 ? this.#newMessages(session) : [];
    const operation: Transaction = {
      ...this.#around(session),
      type: 'transaction',
      session: session.name,
      enqueues,
      consumes: (held?.stored ?? []).map(({ item: { message }, subscriber }) => {
        return { delivery: held!.delivery.id, queue: held!.delivery.queue, message, subscriber };
      }),
    };
    this.operations.push(operation);
    const isStale = held?.stored.some((stored) => stored.heldBy !== held) ?? false;
    const draw = this.#chance.below(10);
    const happens = !isStale && (draw < 7 || (draw === 7 && this.#chance.below(2) === 0));
    if (draw === 7) Object.assign(operation, { outcome: 'unknown', end: Number.POSITIVE_INFINITY });
    else if (!happens) operation.outcome = 'fail';
    if (happens) this.#apply(operation, held);
    else if (held !== undefined) this.#rollback(held);
  }

  #apply({ enqueues }: Transaction, held: Held | undefined): void {
    if (held !== undefined) this.#stored = this.#stored.filter((stored) => stored.heldBy !== held);
    for (const item of enqueues) {
      const units = item.queue === 'topic' ? (item.recipients ?? subscribers) : [undefined];
      for (const subscriber of units) {
        const number = this.#ids * 100 + enqueues.indexOf(item);
        this.#stored.push({ item, subscriber, number, queue: item.queue, deliveries: 0, heldBy: undefined });
      }
    }
  }

  #rollback(held: Held): void {
    this.#end(held);
    for (const stored of held.stored)
      if (stored.queue === 'poison' && stored.deliveries >= attemptsMax) stored.queue = 'poison.exceptions';
  }

  /** Kills the process. Operations whose answer was still under way get an unknown outcome. */
  #kill(): void {
    const start = this.#now;
    this.#now += 5_000;
    for (const operation of this.operations) {
      if (operation.end <= start || (operation.type !== 'transaction' && operation.type !== 'delivery'))
        continue;
      Object.assign(operation, { outcome: 'unknown', end: Number.POSITIVE_INFINITY });
      if (operation.type === 'delivery') operation.messages = [];
    }
    for (const { heldBy } of this.#stored) if (heldBy !== undefined) this.#end(heldBy);
    const of = this.#chance.below(2) === 0 ? { of: [`p${this.#kills}`] } : {};
    const id = this.#id();
    this.operations.push({
      id,
      process: 'parent',
      type: 'kill',
      start,
      end: this.#now,
      outcome: 'ok',
      ...of,
    });
    this.#kills += 1;
    this.#startSessions();
  }

  #inspect(): void {
    const start = this.#now + 1;
    this.#now += 5_000;
    const boxes = ['plain', 'lanes', 'poison', 'poison.exceptions', 'timed'].map(
      (queue) => [queue, undefined] as const,
    );
    const contents = [...boxes, ...subscribers.map((each) => ['topic', each] as const)].map(
      ([queue, subscriber]) => ({
        queue,
        subscriber,
        messages: this.#stored
          .filter((stored) => stored.queue === queue && stored.subscriber === subscriber)
          .sort((a, b) => a.number - b.number)
          .map(({ item: { message, digest } }) => ({ message, digest })),
      }),
    );
    const id = this.#id();
    this.operations.push({
      id,
      process: 'parent',
      type: 'inspection',
      start,
      end: this.#now,
      outcome: 'ok',
      contents,
    });
    for (const session of this.#sessions) session.freeAt = this.#now;
  }
}
