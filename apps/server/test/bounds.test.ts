/** One table of bounds, tested through every way to enqueue: each accepts a message at a bound and refuses one past it. */
import { join } from 'node:path';
import { queueLimits } from '@shardlab/contract';
import {
  connect,
  type NewMessage,
  openInstance,
  type QueueError,
  type Session,
  serveInstance,
} from '@shardlab/engine';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectAnswersAsDescribed } from './check-answers.ts';
import { makeFolder, openApp, removeFolder, type TestApp } from './start-app.ts';

const { payloadBytesMax, keyBytesMax, propertiesMax, propertiesBytesMax } = queueLimits;
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, '']));
const propertiesOf = (bytes: number) => ({ p: 'x'.repeat(bytes - '{"p":""}'.length) });

/** For each bound a message that is accepted and one that is refused. */
const table: [bound: string, atBound: NewMessage, pastBound: NewMessage][] = [
  [
    'bytes of a payload',
    { payload: Buffer.alloc(payloadBytesMax) },
    { payload: Buffer.alloc(payloadBytesMax + 1) },
  ],
  [
    'characters of a payload',
    { payload: `"${'x'.repeat(payloadBytesMax - 2)}"` },
    { payload: `"${'x'.repeat(payloadBytesMax - 3)}é"` },
  ],
  ...(['correlationId', 'groupKey'] as const).map((field): [string, NewMessage, NewMessage] => [
    field,
    { payload: '1', [field]: 'é'.repeat(keyBytesMax / 2) },
    { payload: '1', [field]: `${'é'.repeat(keyBytesMax / 2)}x` },
  ]),
  [
    'number of properties',
    { payload: '1', properties: properties(propertiesMax) },
    { payload: '1', properties: properties(propertiesMax + 1) },
  ],
  [
    'bytes of properties',
    { payload: '1', properties: propertiesOf(propertiesBytesMax) },
    { payload: '1', properties: propertiesOf(propertiesBytesMax + 1) },
  ],
  ['priority', { payload: '1', priority: queueLimits.priorityMax }, { payload: '1', priority: 10 }],
  ['whole priority', { payload: '1', priority: 0 }, { payload: '1', priority: 0.5 }],
  ['least priority', { payload: '1', priority: 0 }, { payload: '1', priority: -1 }],
  [
    'delay',
    { payload: '1', delayMs: queueLimits.delayMsMax },
    { payload: '1', delayMs: queueLimits.delayMsMax + 1 },
  ],
  ['least delay', { payload: '1', delayMs: 0 }, { payload: '1', delayMs: -1 }],
  [
    'number of recipients',
    { payload: '1', recipients: Array.from({ length: queueLimits.subscribersMax }, () => 's') },
    { payload: '1', recipients: Array.from({ length: queueLimits.subscribersMax + 1 }, () => 's') },
  ],
  ['a recipient', { payload: '1', recipients: ['s'] }, { payload: '1', recipients: [] }],
  ['the name of a recipient', { payload: '1', recipients: ['s'] }, { payload: '1', recipients: ['..'] }],
  [
    'length of the name of a recipient',
    { payload: '1', recipients: ['s'] },
    { payload: '1', recipients: ['x'.repeat(queueLimits.subscriberNameMax + 1)] },
  ],
];

/** A way to enqueue. It returns null if the message was accepted, otherwise the refusal. */
type Way = (message: NewMessage) => Promise<string | null>;

const dir = makeFolder();
const closing: (() => Promise<unknown>)[] = [];
let test: TestApp;
const ways = new Map<string, Way>();
const wayNames = [
  'HTTP',
  'HTTP, second of two',
  'a transaction',
  'a session',
  'a remote session',
  'a stream',
  'a remote stream',
  'a stream over HTTP',
];

afterEach(expectAnswersAsDescribed);

beforeAll(async () => {
  test = await openApp({ dataDir: join(dir, 'data') });
  closing.push(test.close);
  const spec = { name: 'q', type: 'topic', priorities: true } as const;
  await test.post('/api/queues', spec);
  await test.post('/api/queues/q/subscribers', { name: 's' });
  const instance = await openInstance({ dir: join(dir, 'engine') });
  closing.unshift(() => instance.close());
  await instance.createQueue(spec);
  await instance.subscribe('q', { name: 's' });
  const served = await serveInstance(instance, { path: join(dir, 'socket') });
  closing.unshift(() => served.close());
  const client = await connect({ path: join(dir, 'socket') });
  closing.unshift(() => client.close());

  ways.set('HTTP', (message) => overHttp('/api/queues/q/messages', [message]));
  ways.set('HTTP, second of two', (message) =>
    overHttp('/api/queues/q/messages', [{ payload: '1' }, message]),
  );
  ways.set('a transaction', (message) => overHttp('/api/transactions', [message]));
  ways.set(
    'a session',
    inSession(() => instance.openSession()),
  );
  ways.set(
    'a remote session',
    inSession(() => client.openSession()),
  );
  ways.set(
    'a stream',
    streamed(() => instance.openSession()),
  );
  ways.set(
    'a remote stream',
    streamed(() => client.openSession()),
  );
  ways.set('a stream over HTTP', streamedOverHttp);
});
afterAll(async () => {
  for (const close of closing) await close();
  removeFolder(dir);
});

async function overHttp(url: string, list: NewMessage[]): Promise<string | null> {
  const messages = list.map(({ payload, ...rest }) => {
    const member =
      typeof payload === 'string'
        ? `"payload":${payload}`
        : `"payloadBase64":"${Buffer.from(payload).toString('base64')}"`;
    const others = JSON.stringify(rest).slice(1, -1);
    return `{${member}${others === '' ? '' : `,${others}`}}`;
  });
  const body = `"messages":[${messages.join(',')}]`;
  const text = url === '/api/transactions' ? `{"enqueue":[{"queue":"q",${body}}]}` : `{${body}}`;
  return refusalOf(await test.postText(url, text));
}

function refusalOf({ status, body }: { status: number; body: { code: string } }): string | null {
  if (status < 300) return null;
  return `${status} ${body.code}`;
}

function inSession(open: () => Session): Way {
  return async (message) => {
    const session = open();
    try {
      session.enqueue('q', message);
      await session.commit();
      return null;
    } catch (error) {
      return (error as QueueError).code;
    } finally {
      await session.close();
    }
  };
}

function streamed(open: () => Session): Way {
  return async ({ payload: _, ...message }) => {
    const session = open();
    try {
      await session.enqueueStream('q', { ...message, payload: piece() });
      await session.commit();
      return null;
    } catch (error) {
      return (error as QueueError).code;
    } finally {
      await session.close();
    }
  };
}

async function* piece(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(10);
}

async function streamedOverHttp({ payload: _, recipients, properties, ...rest }: NewMessage) {
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])),
    ...(properties === undefined ? {} : { properties: JSON.stringify(properties) }),
  });
  for (const name of recipients ?? []) query.append('recipient', name);
  const url = `/api/queues/q/messages/stream?${query}`;
  return refusalOf(await test.postText(url, 'x', 'application/octet-stream'));
}

/** The ways that send JSON. The largest payload does not fit into a JSON body; `REQUEST_TOO_LARGE` says to stream it. */
const isJson = (way: string) => ['HTTP', 'HTTP, second of two', 'a transaction'].includes(way);

/** Streams over HTTP have the properties in the URL, whose bounds are tighter, and which cannot express an empty list. */
const applies = (way: string, bound: string) => {
  if ((way.includes('stream') || isJson(way)) && bound.includes('payload')) return false;
  return (
    way !== 'a stream over HTTP' ||
    !['bytes of properties', 'a recipient', 'number of recipients'].includes(bound)
  );
};

it.each(wayNames.filter(isJson))(
  'by %s a payload at the bound is refused with the advice to stream it',
  async (name) => {
    const [, atBound] = table.find(([bound]) => bound === 'bytes of a payload')!;
    expect(await ways.get(name)!(atBound)).toBe('413 REQUEST_TOO_LARGE');
  },
);

describe.each(wayNames)('by %s', (name) => {
  it.each(table.filter(([bound]) => applies(name, bound)))(
    'the bound is kept: %s',
    async (bound, atBound, past) => {
      const way = ways.get(name)!;
      expect(await way(atBound)).toBeNull();
      const refusal = await way(past);
      const expected = bound.endsWith('of a payload')
        ? /^(413 )?PAYLOAD_TOO_LARGE$/
        : /^MESSAGE_INVALID$|^(422 MESSAGE|400 REQUEST)_INVALID$/;
      expect(refusal).toMatch(expected);
    },
  );
});
