/**
 * What a caller passes, over the whole public surface: each call of each implementation gets an unknown field, a value of another type
 * for each field, and each required argument missing, null, empty and of another type. It must refuse by name, and change nothing.
 * The types of the tables keep them complete: a call that is added to an interface does not compile without its row.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ClusterClient,
  Instance,
  QueueInfo,
  RemoteInstance,
  Session,
  SharedQueue,
} from '../src/index.ts';
import * as engine from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';
import { Membership } from '../src/storage/catalog/membership.ts';
import {
  bare,
  bareOfInstance,
  branchRows,
  clientSessionRows,
  consumerRows,
  coordinatorRows,
  functionRows,
  producerRows,
  type Row,
  requiredFields,
  resourceRows,
  sessionRows,
  sharedQueueRows,
  sharedRows,
  threadRows,
  wrong,
} from './call-rows.ts';
import { makeKeptFolder } from './folder.ts';

let dir: string;
let instance: Instance;
let remote: RemoteInstance;
let cluster: ClusterClient;
let before: QueueInfo[];
const targets: Record<
  string,
  { rows: Readonly<Record<string, Row | typeof bare>>; open(): Promise<object> | object }
> = {
  'an instance': { rows: sharedRows, open: () => instance },
  'a remote instance': { rows: sharedRows, open: () => remote },
  'a client of a cluster': { rows: sharedRows, open: () => cluster },
  'a session': { rows: sessionRows, open: () => instance.openSession() },
  'a remote session': { rows: { ...sessionRows, ...clientSessionRows }, open: () => remote.openSession() },
  'a session of a cluster': { rows: sessionRows, open: () => cluster.openSession() },
  'a consumer': { rows: consumerRows, open: () => remote.openSession().openConsumer('orders') },
  'a producer': { rows: producerRows, open: () => remote.openSession().openProducer('ticks') },
  'the branches of an instance': { rows: resourceRows, open: () => instance.xa },
  'the branches of a remote instance': { rows: resourceRows, open: () => remote.xa },
  'the branches of a client of a cluster': { rows: resourceRows, open: () => cluster.openSession().xa! },
  'the branches of a session': {
    rows: { ...resourceRows, ...branchRows },
    open: () => instance.openSession().xa!,
  },
  'the branches of a remote session': {
    rows: { ...resourceRows, ...branchRows },
    open: () => remote.openSession().xa!,
  },
  'the branches of a session of a cluster': { rows: branchRows, open: () => cluster.openSession().xa! },
  'a coordinator': { rows: coordinatorRows, open: () => instance.coordinator({ one: instance.xa }) },
  'a shared queue': { rows: sharedQueueRows, open: () => shared },
  'a session on a thread': { rows: threadRows, open: () => engine.openThreadSession(shared.handle) },
  'the package': { rows: functionRows as Record<string, Row>, open: () => engine },
};
let shared: SharedQueue;

beforeAll(async () => {
  dir = makeKeptFolder();
  await (await engine.openInstance({ dir })).close();
  const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
  membership.addMember(1);
  membership.close();
  instance = await engine.openInstance({ dir, sampleIntervalMs: 3_600_000 });
  await engine.serveInstance(instance);
  await instance.createQueue({ name: 'orders', durability: 'relaxed' });
  await instance.createQueue({ name: 'ticks', durability: 'memory', visibility: 'immediate' });
  await instance.createQueue({ name: 'news', type: 'topic', durability: 'relaxed' });
  await instance.subscribe('news', { name: 'one' });
  shared = await engine.shareQueue(instance, { queue: 'news' });
  remote = await engine.connect({ dir });
  cluster = engine.connectCluster({ dir });
  before = instance.queues();
});
afterAll(async () => {
  await remote.close();
  await cluster.close();
  await instance.close();
});

/** How a call refuses. A call that is refused at once and one whose promise rejects are the same here. */
async function refusalOf(
  target: object,
  name: string,
  args: unknown[],
): Promise<{ code: string; message: string; named: unknown }> {
  try {
    await (target as Record<string, (...args: unknown[]) => unknown>)[name]!(...args);
  } catch (error) {
    if (error instanceof engine.QueueError) {
      const { code, message, details } = error;
      return { code, message, named: details.field ?? details.option };
    }
    throw new Error(`${name}(${args.map((each) => JSON.stringify(each))}) failed with ${String(error)}`, {
      cause: error,
    });
  }
  return { code: 'accepted', message: '', named: undefined };
}

const isRefusal = /_INVALID$|^XAER_INVAL$|^SQL_REFUSED$|^QUERY_UNSUPPORTED$/;

describe.each(Object.entries(targets))('%s', (_name, { rows, open }) => {
  const calls = Object.entries(rows).flatMap(([name, row]) => (row === bare ? [] : [[name, row] as const]));

  it.each(calls)('%s refuses by name what it does not know, and what is missing', async (name, row) => {
    const target = await open();
    const found: string[] = [];
    const expectRefusal = async (args: unknown[], names: readonly string[], code?: string) => {
      const { code: actual, message: sentence, named } = await refusalOf(target, name, args);
      const isIn = (each: string) => each === named || sentence.toLowerCase().includes(each.toLowerCase());
      const isNamed = names.every(isIn);
      const isRefused =
        code === undefined ? isRefusal.test(actual) : [code, 'QUERY_UNSUPPORTED'].includes(actual);
      if (!isRefused || !(isNamed || actual === 'QUERY_UNSUPPORTED'))
        found.push(
          `(${args.map(shown).join(', ')}): ${actual} ${sentence}, not ${code ?? 'a refusal'} with ${names.join()}`,
        );
    };
    const replaced = (place: number, value: unknown) =>
      row.valid.map((each, at) => (at === place ? value : each));

    for (const [place, [argument, kind]] of (row.required ?? []).entries()) {
      if (place === row.required!.length - 1) await expectRefusal(row.valid.slice(0, place), [argument]);
      for (const value of wrong[kind]) await expectRefusal(replaced(place, value), [argument]);
    }
    for (const [key, known] of Object.entries(row.fields ?? {})) {
      const place = Number(key);
      const given = row.valid[place] as object;
      await expectRefusal(replaced(place, null), [], known.code);
      await expectRefusal(
        replaced(place, { ...given, nonsense: 1 }),
        ['nonsense', ...known.kinds.keys()],
        known.code,
      );
      for (const [field, kind] of known.kinds) {
        if (field === 'options' || field === 'error') continue; // any JSON, and whatever a handler has thrown
        const value = kind === 'function' ? 'text' : { odd: 1 };
        await expectRefusal(replaced(place, { ...given, [field]: value }), [field]);
      }
    }
    expect(found).toEqual([]);
    expect(instance.queues()).toEqual(before);
    if ('enqueue' in target) await (target as Partial<Session>).rollback?.();
  });
});

it.each(Object.entries(requiredFields))(
  '%s names a required field that is missing or empty',
  async (name, required) => {
    for (const field of required ?? []) {
      for (const value of wrong.text) {
        const given = { ...(functionRows[name as 'connect']!.valid[0] as object), [field]: value };
        const refusal = await refusalOf(engine, name, [given]);
        expect([name, value, refusal]).toEqual([
          name,
          value,
          expect.objectContaining({ code: 'OPTIONS_INVALID', message: expect.stringContaining(field) }),
        ]);
      }
    }
    expect(readdirSync('.')).not.toContain('never-made');
  },
);

it('refuses unknown options of the other calls of the package', async () => {
  const odd = (given: object) => [{ ...given, nonsense: 1 }] as unknown[];
  const calls: [string, unknown[]][] = [
    ['openQueue', odd({ dir: 'never-made', name: 'orders' })],
    ['openQueue', odd({ nats: 'nats://127.0.0.1:1', name: 'orders' })],
    ['openQueue', [{ dir: 'never-made', name: 'orders', visibility: 'immediate' }]],
    ['connect', odd({ dir: 'never-made' })],
    ['connectCluster', odd({ dir: 'never-made' })],
    ['startCluster', odd({ dir: 'never-made' })],
    ['cancelConversion', odd({ dir: 'never-made', queue: 'orders' })],
    ['readConversion', odd({ dir: 'never-made', queue: 'orders' })],
    ['serveInstance', [instance, { nonsense: 1 }]],
    ['shareQueue', [instance, { queue: 'news', nonsense: 1 }]],
  ];
  for (const [name, args] of calls) {
    const refusal = await refusalOf(engine, name, args);
    const word = JSON.stringify(args).includes('nonsense') ? 'nonsense' : 'visibility';
    expect([name, refusal]).toEqual([
      name,
      expect.objectContaining({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining(`has no option ${word}; it has `),
      }),
    ]);
  }
  expect(await refusalOf(remote, 'openSession', [{ nonsense: 1 }])).toMatchObject({
    code: 'OPTIONS_INVALID',
  });
  expect(await refusalOf(instance, 'coordinator', [undefined])).toMatchObject({ code: 'OPTIONS_INVALID' });
  expect(await refusalOf(instance, 'coordinator', [{ one: instance }])).toMatchObject({
    message: expect.stringContaining('participants.one'),
  });
  const service = { name: 'a', module: 'timer', nonsense: 1 };
  expect(await refusalOf(engine, 'openInstance', [{ dir: 'never-made', services: [service] }])).toMatchObject(
    {
      code: 'SERVICE_SPEC_INVALID',
      message: expect.stringContaining('nonsense'),
    },
  );
  expect(readdirSync('.')).not.toContain('never-made');
});

it('has a row for each function of the package and each call of an instance', () => {
  const plain = ['counters', 'waitEvents'];
  const withoutRow = Object.entries(engine).flatMap(([name, value]) =>
    typeof value === 'function' && !(name in functionRows) && !plain.includes(name) ? [name] : [],
  );
  expect(withoutRow.sort()).toEqual(withoutCaller);
  for (const name of bareOfInstance) expect(name in sharedRows).toBe(false);
});

/** Classes, and functions of what the engine itself has measured or written. */
const withoutCaller = [
  'CodedError',
  'QueueError',
  'RejectMessage',
  'RetryLater',
  'WaitRecorder',
  'estimateDrain',
  'isStoreAddress',
  'latencyBucketOf',
  'latencyQuantileMs',
  'parseStoreAddress',
  'registerCounter',
  'registerWaitEvent',
  'socketPath',
  'sqliteVersion',
  'valueFromJson',
  'valueToJson',
  'waitQuantileMs',
  'withInstancePrefix',
];

const shown = (value: unknown) => (typeof value === 'function' ? 'a function' : JSON.stringify(value));
