/**
 * Sessions use a cluster of three servers while those are killed and cut off. Their history is then checked: no acknowledged message is
 * lost, none is delivered again after its consumption was acknowledged, none has two holders, and no batch is torn.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Message, type NewMessage, QueueError } from '@shardlab/engine';
import {
  checkHistory,
  parseHistory,
  type RecordableSession,
  RecordedSession,
  Recorder,
  type Verdict,
} from '@shardlab/history';
import { random } from '../../../engine/test/random.ts';
import { type JetStreamStore, openJetStream } from '../../src/index.ts';
import type { NatsCluster } from '../../src/servers/index.ts';

export interface FaultOptions {
  cluster: NatsCluster;
  seed: number;
  kills: number;
  partitions: number;
  log?(line: string): void;
}

export interface FaultReport {
  verdict: Verdict;
  /** The history as text, so that it can be checked again. */
  history: string;
  enqueued: number;
  consumed: number;
  /** Commits whose outcome the session did not learn. */
  unknown: number;
  /** Messages that could not be delivered after all faults. */
  left: number;
  /** Longest time without an acknowledged commit after a kill and after a partition, ms. */
  gapMs: { kill: number; partition: number };
}

const queue = 'orders';
const serverCount = 3;
/** The servers' limit of a hold. Holds are recorded as shorter, by the time that a delivery may take. */
const ackWaitMs = 15_000;
const holdMs = 8_000;
const settleMs = 3_000;
/** Number of messages in the queue past which producers pause, since the rest is consumed one by one at the end. */
const backlogMax = 300;
const partitionMs = { min: 6_000, max: 14_000 };

type Client = RecordedSession<Message, NewMessage>;

export async function runFaults({
  cluster,
  seed,
  kills,
  partitions,
  log,
}: FaultOptions): Promise<FaultReport> {
  const draw = random(seed);
  const lines: string[] = [];
  const recorder = new Recorder({ process: 'client', write: (line) => void lines.push(line) });
  const report = { enqueued: 0, consumed: 0, unknown: 0, left: 0, gapMs: { kill: 0, partition: 0 } };
  const stores = await Promise.all(
    [0, 1, 2].map((first) => {
      const servers = [...cluster.urls.slice(first), ...cluster.urls.slice(0, first)];
      return openJetStream({ servers, sync: 'always', replicas: 3, ackWaitMs, callMs: 60_000 });
    }),
  );
  const [store] = stores as [JetStreamStore, ...JetStreamStore[]];
  await store.createQueue({ name: queue, shards: 2, durability: 'durable', attemptsMax: null });
  recorder.note({ type: 'queue', queue });

  let stopping = false;
  let lastCommitAtMs = performance.now();
  let fault: 'kill' | 'partition' = 'kill';
  const committed = () => {
    const now = performance.now();
    report.gapMs[fault] = Math.max(report.gapMs[fault], now - lastCommitAtMs);
    lastCommitAtMs = now;
  };
  const clientOf = (at: number, name: string, dequeues: boolean): Client => {
    const session = stores[at % stores.length]!.openSession();
    return new RecordedSession<Message, NewMessage>(dequeues ? dequeuing(session) : session, {
      recorder,
      name,
      identify: ({ payload }) => ({ message: payload.toString().split(' ')[0]!, digest: digestOf(payload) }),
    });
  };
  /** Makes a call that may fail because of a fault, after which the session continues. Any other error ends the run. */
  const tolerate = async (call: () => Promise<void>) => {
    try {
      await call();
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      if (error.code === 'COMMIT_OUTCOME_UNKNOWN') report.unknown += 1;
      else if (!['INSTANCE_UNREACHABLE', 'RECEIPT_STALE', 'TX_NOT_COMMITTED'].includes(error.code))
        throw error;
      await pause(50);
    }
  };
  const produce = async (number: number) => {
    const client = clientOf(number, `producer-${number}`, false);
    for (let count = 0; !stopping; count += 1) {
      if (report.enqueued - report.consumed > backlogMax) {
        await pause(50);
        continue;
      }
      const size = 1 + Math.floor(draw() * 5);
      for (let part = 0; part < size; part += 1) {
        const message = `${number}.${count}.${part}`;
        const payload = Buffer.from(`${message} ${'x'.repeat(Math.floor(draw() * 500))}`);
        client.enqueue(queue, { payload }, { message, digest: digestOf(payload) });
      }
      await tolerate(async () => {
        await client.commit();
        report.enqueued += size;
        committed();
      });
      await pause(draw() * 60);
    }
  };
  // Consumes one message at a time: the servers consume several one by one, but the history requires all or none in a transaction.
  const consumeOne = async (client: Client, waitMs: number): Promise<boolean> => {
    const [message] = await client.receive(queue, { max: 1, waitMs, holdMs });
    if (message === undefined) return false;
    if (draw() < 0.1) await client.release(queue, [message.receipt]);
    else {
      client.acknowledge(queue, [message.receipt]);
      await client.commit();
      report.consumed += 1;
      committed();
    }
    return true;
  };
  const consume = async (number: number) => {
    const client = clientOf(number, `consumer-${number}`, number % 2 === 0);
    while (!stopping) await tolerate(async () => void (await consumeOne(client, 1_000)));
    await client.close();
  };
  const workers = Promise.all([...[0, 1, 2].map(produce), ...[0, 1, 2, 3, 4, 5].map(consume)]);
  const failed = workers.then(
    () => undefined,
    (error: unknown) => {
      stopping = true;
      throw error;
    },
  );
  failed.catch(() => undefined); // The error is reported after the faults.

  const faults = [
    ...Array.from({ length: kills }, () => 'kill' as const),
    ...Array.from({ length: partitions }, () => 'partition' as const),
  ].sort(() => draw() - 0.5);
  await pause(500);
  for (const [index, kind] of faults.entries()) {
    if (stopping) break;
    const server = Math.floor(draw() * serverCount);
    fault = kind;
    log?.(`${index + 1} of ${faults.length}: ${kind} of server ${server + 1}`);
    // A change of the leader may end holds, but consumed messages stay consumed. The history records it as a kill.
    const change = recorder.begin({ type: 'kill' });
    if (kind === 'kill') {
      await cluster.kill(server);
      await pause(draw() * 6_000);
      await cluster.restart(server);
    } else {
      cluster.partition(server);
      await pause(partitionMs.min + draw() * (partitionMs.max - partitionMs.min));
      cluster.heal();
    }
    await untilHealthy(cluster);
    await pause(500 + draw() * 1_000);
    change.end('ok');
  }
  stopping = true;
  await failed;
  await untilHealthy(cluster);

  // A consumed message leaves the stream a moment after the acknowledgement.
  await pause(settleMs);
  await inspect(recorder, store);
  const last = clientOf(0, 'last', false);
  // Messages whose delivery was lost are ready again when the servers' limit of their hold is over.
  const drainUntil = performance.now() + 4 * ackWaitMs;
  while (performance.now() < drainUntil) {
    const { enqueued, consumed } = await store.queue(queue);
    report.left = enqueued - consumed;
    if (report.left === 0) break;
    await tolerate(async () => void (await consumeOne(last, 1_000)));
  }
  await pause(settleMs);
  await inspect(recorder, store);
  await Promise.all(stores.map((each) => each.close()));
  const history = lines.join('');
  return { ...report, verdict: checkHistory(parseHistory(history)), history };
}

/** A session whose `receive` dequeues in its transaction. The history records timed holds, as the servers limit these holds too. */
function dequeuing(
  session: ReturnType<JetStreamStore['openSession']>,
): RecordableSession<Message, NewMessage> {
  let count = 0;
  return {
    id: session.id,
    enqueue: (...args) => session.enqueue(...args),
    dequeue: (...args) => session.dequeue(...args),
    async receive(name, { holdMs: _holdMs, ...options } = {}) {
      const messages = await session.dequeue(name, options);
      return messages.map((message) => {
        count += 1;
        return { ...message, receipt: `dequeued-${count}` };
      });
    },
    acknowledge: () => undefined,
    release: () => session.rollback(),
    extend: (...args) => session.extend(...args),
    commit: () => session.commit(),
    rollback: () => session.rollback(),
    close: () => session.close(),
  };
}

async function inspect(recorder: Recorder, store: JetStreamStore): Promise<void> {
  const operation = recorder.begin({ type: 'inspection', contents: [] });
  const messages: { message: string; digest: string }[] = [];
  let after: string | null = '0';
  while (after !== null) {
    const page: Awaited<ReturnType<JetStreamStore['browse']>> = await store.browse(queue, {
      limit: 1_000,
      after,
    });
    for (const { payload } of page.messages) {
      messages.push({ message: payload.toString().split(' ')[0]!, digest: digestOf(payload) });
    }
    after = page.next;
  }
  operation.end('ok', { contents: [{ queue, messages }] });
}

async function untilHealthy(cluster: NatsCluster): Promise<void> {
  const until = performance.now() + 60_000;
  for (let server = 0; server < serverCount; ) {
    if (await cluster.isHealthy(server)) server += 1;
    else if (performance.now() > until) throw new Error(`server ${server + 1} is not healthy after a minute`);
    else await pause(100);
  }
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('base64url').slice(0, 16);
}
