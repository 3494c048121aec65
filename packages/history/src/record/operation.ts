/**
 * Operations of a history: the clients' attempts and their results. Times are nanoseconds of the machine's monotonic clock, which
 * all its processes share. An operation took effect somewhere between its start and its end.
 */

/** `unknown`: the client got no result. The operation may have taken effect, or may still do so until the next inspection. */
export type Outcome = 'ok' | 'fail' | 'unknown';

export interface OperationBase {
  /** Unique in the history. */
  id: string;
  /** Process of the client that recorded it. */
  process: string;
  start: number;
  /** Infinity if it never ended. */
  end: number;
  outcome: Outcome;
}

/** Promises of a queue. An undeclared queue promises no order. */
export interface QueueDeclaration extends OperationBase {
  type: 'queue';
  queue: string;
  topic?: boolean | undefined;
  /** Messages of a stream are delivered in the order of their commits. */
  ordered?: boolean | undefined;
  /** Several hosts deliver its messages: in order for the first time only. */
  forwarded?: boolean | undefined;
  /** More urgent messages of a stream are delivered first. */
  priorities?: boolean | undefined;
  /** Name of the queue that messages move to after too many deliveries. */
  exceptions?: string | undefined;
  /** Messages may be lost when a process is killed. */
  volatile?: boolean | undefined;
}

export interface Subscription extends OperationBase {
  type: 'subscribe' | 'unsubscribe';
  queue: string;
  subscriber: string;
}

export interface EnqueuedMessage {
  queue: string;
  /** Unique in the history. */
  message: string;
  /** Messages of one stream, priority and log are delivered in the order of their commits. Undefined: no order. */
  stream?: string | undefined;
  priority?: number | undefined;
  /** Digest of the content. */
  digest?: string | undefined;
  /** Subscribers of a topic that the message is for; undefined: all. */
  recipients?: string[] | undefined;
  /** It must not be delivered earlier. */
  notBefore?: number | undefined;
}

/** One message of one delivery. */
export interface DeliveryPart {
  /** Id of the delivery. */
  delivery: string;
  queue: string;
  message: string;
  subscriber?: string | undefined;
}

/** A transaction: all of it happens, or nothing. One that the client rolled back has the outcome `fail`. */
export interface Transaction extends OperationBase {
  type: 'transaction';
  session: string;
  enqueues: EnqueuedMessage[];
  consumes: DeliveryPart[];
  /** Branches of one global transaction (XA) share it: all of them happen, or none. */
  global?: string | undefined;
}

export interface DeliveredMessage {
  message: string;
  digest?: string | undefined;
  /** The ordered log that it comes from. */
  log?: string | undefined;
}

/** A dequeue. Each message is held from the delivery until it is consumed or released, its time is up or a kill. */
export interface Delivery extends OperationBase {
  type: 'delivery';
  queue: string;
  subscriber?: string | undefined;
  /** The process that delivered; default: the client's own. */
  host?: string | undefined;
  /** How many messages it may return. One that never ended may have received as many. */
  max: number;
  /** Undefined: held until the end of the transaction. */
  holdMs?: number | undefined;
  messages: DeliveredMessage[];
}

/** Ends holds without consuming the messages. */
export interface Release extends OperationBase {
  type: 'release';
  deliveries: DeliveryPart[];
}

/** The holds last for `holdMs` from now. */
export interface Extension extends OperationBase {
  type: 'extend';
  deliveries: DeliveryPart[];
  holdMs: number;
}

/**
 * Processes were killed, stopped, or gave up what they hosted: holds of deliveries by or to them may have ended, at any time
 * between start and end.
 */
export interface Kill extends OperationBase {
  type: 'kill';
  /** Names of processes, as clients or as hosts; undefined: any. */
  of?: string[] | undefined;
}

/** All that some queues contained while no client was at work. It decides the outcome of all transactions begun before. */
export interface Inspection extends OperationBase {
  type: 'inspection';
  contents: { queue: string; subscriber?: string | undefined; messages: DeliveredMessage[] }[];
}

/**
 * From start to end its holder acted as the only one. If the end is unknown, it is the last time at which the holder was seen
 * acting.
 */
export interface Lease extends OperationBase {
  type: 'lease';
  resource: string;
}

/** A client received a message that it cannot identify: no client enqueued it, or it is damaged. */
export interface Unreadable extends OperationBase {
  type: 'unreadable';
  queue: string;
  text: string;
}

export type Operation =
  | QueueDeclaration
  | Subscription
  | Transaction
  | Delivery
  | Release
  | Extension
  | Kill
  | Inspection
  | Lease
  | Unreadable;

export type OperationType = Operation['type'];

export const operationTypes: readonly OperationType[] = [
  'queue',
  'subscribe',
  'unsubscribe',
  'transaction',
  'delivery',
  'release',
  'extend',
  'kill',
  'inspection',
  'lease',
  'unreadable',
];
