/** What each call of the public surface takes: arguments that it would accept, what it requires, and the fields of its objects. */

import type * as engine from '../src/index.ts';
import type {
  ClientSession,
  Consumer,
  Producer,
  RemoteInstance,
  Session,
  SharedQueue,
  ThreadSession,
  TransactionCoordinator,
  XaResource,
  XaSession,
} from '../src/index.ts';
import type { Fields } from '../src/model/call-arguments.ts';
import * as fields from '../src/model/call-fields.ts';

export type Required = 'text' | 'texts' | 'object' | 'number' | 'function';

/** One call: arguments that would be accepted, what is required at which place, and the fields of objects. */
export interface Row {
  valid: unknown[];
  required?: readonly (readonly [name: string, kind: Required])[];
  fields?: Readonly<Record<number, Fields>>;
}

/** Takes no arguments. */
export const bare = 'no arguments';
export type Rows<T> = {
  [Name in keyof T as T[Name] extends (...args: never[]) => unknown ? Name : never]-?: Row | typeof bare;
};

export const wrong: Record<Required, unknown[]> = {
  text: [undefined, null, '', 7, {}],
  texts: [undefined, null, 'receipt', 7, [7]],
  object: [undefined, null, 'text', 7, []],
  number: [undefined, null, '7', {}],
  function: [undefined, null, 'text', {}],
};

export const queue = ['queue', 'text'] as const;
export const topic = ['queue', 'text'] as const;
export const xid = { formatId: 1, gtrid: Buffer.from('g'), bqual: Buffer.from('b') };
export const isXid = ['xid', 'object'] as const;
export const message = { payload: 'x' };
export const file = (row: Row): Row => row;

export const sessionRows: Rows<Omit<Session, 'xa' | 'time'>> = {
  enqueue: file({
    valid: ['orders', message],
    required: [queue, ['message', 'object']],
    fields: { 1: fields.messageFields },
  }),
  enqueueNow: { valid: ['ticks', message], required: [queue], fields: { 1: fields.messageFields } },
  enqueueStream: {
    valid: ['orders', { payload: [] }],
    required: [queue, ['message', 'object']],
    fields: { 1: fields.streamedMessageFields },
  },
  dequeue: { valid: ['orders', {}], required: [queue], fields: { 1: fields.dequeueFields } },
  dequeueNow: { valid: ['ticks', {}], required: [queue], fields: { 1: fields.dequeueFields } },
  receive: { valid: ['orders', {}], required: [queue], fields: { 1: fields.receiveFields } },
  acknowledge: { valid: ['orders', ['1/r']], required: [queue, ['receipt', 'texts']] },
  release: {
    valid: ['orders', ['1/r'], {}],
    required: [queue, ['receipt', 'texts']],
    fields: { 2: fields.returnFields },
  },
  messageOfReceipt: { valid: ['orders', '1/r'], required: [queue, ['receipt', 'text']] },
  extend: {
    valid: ['orders', ['1/r'], 1_000],
    required: [queue, ['receipt', 'texts'], ['holdMs', 'number']],
  },
  execute: { valid: ['SELECT 1', []], required: [['statement', 'text']] },
  query: { valid: ['SELECT 1', []], required: [['statement', 'text']] },
  commit: { valid: [{}], fields: { 0: fields.commitFields } },
  rollback: { valid: [{}], fields: { 0: fields.returnFields } },
  close: bare,
};

export const clientSessionRows: Rows<
  Pick<ClientSession, 'openConsumer' | 'openProducer' | 'commitAndDequeue'>
> = {
  openConsumer: { valid: ['orders', {}], required: [queue], fields: { 1: fields.consumerFields } },
  openProducer: { valid: ['ticks', {}], required: [queue], fields: { 1: fields.producerFields } },
  commitAndDequeue: { valid: ['orders', {}], required: [queue], fields: { 1: fields.dequeueFields } },
};
export const consumerRows: Rows<Consumer> = {
  receive: { valid: [{ waitMs: 0 }], fields: { 0: fields.receiveOneFields } },
  receiveNoWait: bare,
  receiveBatch: { valid: [{ waitMs: 0 }], fields: { 0: fields.receiveBatchFields } },
  acknowledge: bare,
  recover: { valid: [{}], fields: { 0: fields.returnFields } },
  close: bare,
};
export const producerRows: Rows<Producer> = {
  send: { valid: [message], required: [['message', 'object']], fields: { 0: fields.messageFields } },
  flush: bare,
  close: bare,
};

export const resourceRows: Rows<XaResource> = {
  prepare: { valid: [xid, {}], required: [isXid], fields: { 0: fields.xidFields, 1: fields.xaPlaceFields } },
  commit: { valid: [xid, {}], required: [isXid], fields: { 0: fields.xidFields, 1: fields.xaCommitFields } },
  rollback: { valid: [xid, {}], required: [isXid], fields: { 0: fields.xidFields, 1: fields.xaPlaceFields } },
  recover: bare,
  forget: { valid: [xid], required: [isXid], fields: { 0: fields.xidFields } },
};
export const branchRows: Rows<Omit<XaSession, keyof XaResource>> = {
  start: { valid: [xid, {}], required: [isXid], fields: { 0: fields.xidFields, 1: fields.xaStartFields } },
  end: { valid: [xid, 'success'], required: [isXid], fields: { 0: fields.xidFields } },
  flush: { valid: [xid], required: [isXid], fields: { 0: fields.xidFields } },
};

export const sharedRows: Rows<
  Omit<RemoteInstance, 'openSession' | 'waits' | 'stats' | 'probe' | 'services' | 'queues'>
> = {
  createQueue: {
    valid: [{ name: 'new' }],
    required: [['queue', 'object']],
    fields: { 0: fields.queueSpecFields },
  },
  dropQueue: { valid: ['orders', {}], required: [queue], fields: { 1: fields.dropQueueFields } },
  startQueue: { valid: ['orders', {}], required: [queue], fields: { 1: fields.whichFields } },
  stopQueue: { valid: ['orders', {}], required: [queue], fields: { 1: fields.whichFields } },
  queue: { valid: ['orders'], required: [queue] },
  subscribe: {
    valid: ['news', { name: 'one' }],
    required: [topic, ['subscriber', 'object']],
    fields: { 1: fields.subscriberFields },
  },
  unsubscribe: { valid: ['news', 'one'], required: [topic, ['name', 'text']] },
  subscribers: { valid: ['news'], required: [topic] },
  browse: { valid: ['orders', {}], required: [queue], fields: { 1: fields.browseFields } },
  callService: {
    valid: ['timer', 'status'],
    required: [
      ['name', 'text'],
      ['call', 'text'],
    ],
  },
  messageTrace: { valid: ['orders', '1.1'], required: [queue, ['id', 'text']] },
  tracedMessages: { valid: ['orders', {}], required: [queue], fields: { 1: fields.tracedMessagesFields } },
  traceNext: { valid: ['orders', 1], required: [queue] },
  queueStats: { valid: ['orders'], required: [queue] },
  close: bare,
};
export const bareOfInstance = ['openSession', 'waits', 'stats', 'probe', 'services', 'queues'] as const;

export const threadRows: Rows<ThreadSession> = {
  enqueue: {
    valid: [message, {}],
    required: [['message', 'object']],
    fields: { 0: fields.messageFields, 1: fields.sharedEnqueueFields },
  },
  listen: {
    valid: [['one'], 0],
    required: [
      ['subscribers', 'texts'],
      ['waitMs', 'number'],
    ],
  },
  dequeue: {
    valid: ['one', {}],
    required: [['subscriber', 'text']],
    fields: { 1: fields.sharedDequeueFields },
  },
  commit: bare,
  rollback: bare,
  close: bare,
};
export const sharedQueueRows: Rows<Pick<SharedQueue, 'subscribe'>> = {
  subscribe: {
    valid: [{ name: 'two' }],
    required: [['subscriber', 'object']],
    fields: { 0: fields.subscriberFields },
  },
};
export const coordinatorRows: Rows<TransactionCoordinator> = {
  begin: { valid: [{}], fields: { 0: fields.globalTransactionFields } },
  resolve: bare,
  close: bare,
};

/** The functions that the package exports. Those without a row get values that the engine itself has made. */
export const dirAnd = (others: object) => ({ dir: 'never-made', ...others });
export const functionRows: Partial<Record<keyof typeof engine, Row>> = {
  openInstance: {
    valid: [dirAnd({})],
    required: [['instance', 'object']],
    fields: { 0: fields.instanceFields },
  },
  openQueue: { valid: [dirAnd({ name: 'orders' })], required: [['openQueue', 'object']] },
  connect: { valid: [dirAnd({})], required: [['connect', 'object']] },
  connectCluster: { valid: [dirAnd({})], required: [['connectCluster', 'object']] },
  startCluster: { valid: [dirAnd({})], required: [['cluster', 'object']] },
  convertQueue: {
    valid: [dirAnd({ queue: 'orders' })],
    required: [['conversion', 'object']],
    fields: { 0: fields.convertFields },
  },
  cancelConversion: { valid: [dirAnd({ queue: 'orders' })], required: [['conversion', 'object']] },
  readConversion: { valid: [dirAnd({ queue: 'orders' })], required: [['conversion', 'object']] },
  readMembers: { valid: ['never-made'], required: [['dir', 'text']] },
  checkFolder: { valid: ['never-made'], required: [['dir', 'text']] },
  repairFolder: { valid: ['never-made'], required: [['dir', 'text']] },
  backupFolder: {
    valid: ['never-made', 'nowhere'],
    required: [
      ['dir', 'text'],
      ['into', 'text'],
    ],
  },
  makeFolder: { valid: ['never-made'], required: [['dir', 'text']] },
  serveInstance: { valid: [{}, {}], required: [['instance', 'object']] },
  shareQueue: { valid: [{}, { queue: 'news' }], required: [['instance', 'object']] },
  openThreadSession: { valid: [{}], required: [['handle', 'object']] },
  splitReceipts: { valid: [['1/r']], required: [['receipts', 'texts']] },
};
/** Required fields of the options of these calls. */
export const requiredFields: Partial<Record<keyof typeof engine, string[]>> = {
  openInstance: ['dir'],
  openQueue: ['dir', 'name'],
  connectCluster: ['dir'],
  startCluster: ['dir'],
  convertQueue: ['dir', 'queue'],
  cancelConversion: ['dir', 'queue'],
  readConversion: ['dir', 'queue'],
};
