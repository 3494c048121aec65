/**
 * A history by message: who enqueued it, who received it, who consumed it. A unit is a message for one consumer: of a queue,
 * or one subscriber of a topic.
 */
import type {
  DeliveredMessage,
  Delivery,
  EnqueuedMessage,
  Extension,
  Inspection,
  Lease,
  Operation,
  QueueDeclaration,
  Release,
  Transaction,
  Unreadable,
} from '../record/operation.ts';
import { KillTimes } from './kill-times.ts';
import type { Evidence } from './violation.ts';

export interface KnownTransaction {
  operation: Transaction;
  /** The first evidence found that it must have happened, and the first that it cannot have. */
  happened: Evidence | undefined;
  didNot: Evidence | undefined;
}

export interface Enqueue {
  transaction: KnownTransaction;
  item: EnqueuedMessage;
  /** Position in its transaction. */
  index: number;
}

/** One message held by one delivery. */
export interface Hold {
  delivery: Delivery;
  item: DeliveredMessage;
  /** Position in the delivery. */
  index: number;
  consumedBy: KnownTransaction[];
  releases: Release[];
  extensions: Extension[];
}

export interface Unit {
  message: string;
  subscriber: string | undefined;
  enqueue: Enqueue;
  /** Holds in the order in which their deliveries ended. */
  holds: Hold[];
  consumers: KnownTransaction[];
  /** The first inspection that found it, and the position there. */
  found: { inspection: Inspection; index: number; log: string | undefined } | undefined;
}

export interface SubscriberTimes {
  /** Start of the first call that may have subscribed it. */
  attempted: number;
  subscribed: Operation;
  unsubscribed: Operation | undefined;
}

export interface Facts {
  queues: Map<string, QueueDeclaration>;
  /** Times by topic and subscriber. */
  subscribers: Map<string, Map<string, SubscriberTimes>>;
  transactions: KnownTransaction[];
  enqueues: Map<string, Enqueue>;
  units: Map<string, Unit>;
  deliveries: Delivery[];
  inspections: Inspection[];
  leases: Lease[];
  unreadable: Unreadable[];
  kills: KillTimes;
  /** Messages that were named by two attempts. */
  namedTwice: { message: string; operations: Operation[] }[];
}

export function unitKey(message: string, subscriber: string | undefined): string {
  return subscriber === undefined ? message : `${message}\n${subscriber}`;
}

const holdKey = (delivery: string, message: string) => `${delivery}\n${message}`;

/** O(n log n). */
export function collectFacts(operations: readonly Operation[]): Facts {
  const ordered = [...operations].sort((a, b) => a.start - b.start);
  const ofType = <Type extends Operation['type']>(type: Type) =>
    ordered.filter((each): each is Extract<Operation, { type: Type }> => each.type === type);
  const facts: Facts = {
    queues: new Map(ofType('queue').map((declared) => [declared.queue, declared])),
    subscribers: new Map(),
    transactions: [],
    enqueues: new Map(),
    units: new Map(),
    deliveries: ofType('delivery'),
    inspections: ofType('inspection'),
    leases: ofType('lease'),
    unreadable: ofType('unreadable'),
    kills: new KillTimes(ofType('kill')),
    namedTwice: [],
  };
  for (const operation of ordered) addSubscription(facts, operation);
  for (const operation of ofType('transaction')) addEnqueues(facts, operation);
  for (const { transaction, item } of facts.enqueues.values()) addExpectedUnits(facts, transaction, item);
  const holds = addHolds(facts);
  for (const transaction of facts.transactions) {
    for (const part of transaction.operation.consumes) {
      holds.get(holdKey(part.delivery, part.message))?.consumedBy.push(transaction);
      facts.units.get(unitKey(part.message, part.subscriber))?.consumers.push(transaction);
    }
  }
  for (const release of ofType('release'))
    for (const part of release.deliveries)
      holds.get(holdKey(part.delivery, part.message))?.releases.push(release);
  for (const extension of ofType('extend'))
    for (const part of extension.deliveries)
      holds.get(holdKey(part.delivery, part.message))?.extensions.push(extension);
  for (const inspection of facts.inspections) addFound(facts, inspection);
  return facts;
}

function addSubscription({ subscribers }: Facts, operation: Operation): void {
  if (operation.type !== 'subscribe' && operation.type !== 'unsubscribe') return;
  if (operation.outcome === 'fail') return;
  const ofTopic = subscribers.get(operation.queue) ?? new Map<string, SubscriberTimes>();
  subscribers.set(operation.queue, ofTopic);
  const known = ofTopic.get(operation.subscriber);
  if (operation.type === 'unsubscribe') {
    if (known !== undefined) known.unsubscribed ??= operation;
  } else if (known === undefined || (known.subscribed.outcome !== 'ok' && operation.outcome === 'ok')) {
    // Subscribing again under a name changes nothing: the first time counts.
    ofTopic.set(operation.subscriber, {
      attempted: known?.attempted ?? operation.start,
      subscribed: operation,
      unsubscribed: known?.unsubscribed,
    });
  }
}

function addEnqueues(facts: Facts, operation: Transaction): void {
  const transaction: KnownTransaction = { operation, happened: undefined, didNot: undefined };
  facts.transactions.push(transaction);
  for (const [index, item] of operation.enqueues.entries()) {
    const known = facts.enqueues.get(item.message);
    if (known === undefined) facts.enqueues.set(item.message, { transaction, item, index });
    else
      facts.namedTwice.push({
        message: item.message,
        operations: [known.transaction.operation, operation],
      });
  }
}

function newUnit(facts: Facts, message: string, subscriber: string | undefined): Unit | undefined {
  const enqueue = facts.enqueues.get(message);
  if (enqueue === undefined) return undefined;
  const key = unitKey(message, subscriber);
  let unit = facts.units.get(key);
  if (unit === undefined) {
    unit = { message, subscriber, enqueue, holds: [], consumers: [], found: undefined };
    facts.units.set(key, unit);
  }
  return unit;
}

/** The units that exist if the transaction commits. */
function addExpectedUnits(
  facts: Facts,
  { operation }: KnownTransaction,
  { queue, message, recipients }: EnqueuedMessage,
): void {
  if (facts.queues.get(queue)?.topic !== true) {
    newUnit(facts, message, undefined);
    return;
  }
  for (const [subscriber, { subscribed }] of facts.subscribers.get(queue) ?? []) {
    const addressed = recipients?.includes(subscriber) ?? true;
    if (addressed && subscribed.outcome === 'ok' && subscribed.end < operation.start)
      newUnit(facts, message, subscriber);
  }
}

function addHolds(facts: Facts): Map<string, Hold> {
  const holds = new Map<string, Hold>();
  for (const delivery of [...facts.deliveries].sort((a, b) => a.end - b.end)) {
    for (const [index, item] of delivery.messages.entries()) {
      const hold: Hold = { delivery, item, index, consumedBy: [], releases: [], extensions: [] };
      const unit = newUnit(facts, item.message, delivery.subscriber);
      if (unit === undefined) continue;
      unit.holds.push(hold);
      holds.set(holdKey(delivery.id, item.message), hold);
    }
  }
  return holds;
}

function addFound(facts: Facts, inspection: Inspection): void {
  for (const { subscriber, messages } of inspection.contents) {
    for (const [index, { message, log }] of messages.entries()) {
      const unit = newUnit(facts, message, subscriber);
      if (unit !== undefined) unit.found ??= { inspection, index, log };
    }
  }
}
