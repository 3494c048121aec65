/**
 * A process of a cluster under load: on each instance that it hosts, its own or one taken over, two sessions enqueue and one dequeues.
 * It logs what is attempted and what is acknowledged (`ledger.ts` reads the log). Each line is written by one system call, so a kill
 * loses none.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterEvent } from '../../src/cluster/cluster-events.ts';
import { ClusterMember } from '../../src/cluster/cluster-member.ts';
import { nodeClusterPorts } from '../../src/cluster/node-cluster-ports.ts';
import { type Instance, QueueError } from '../../src/index.ts';
import { HeartbeatThread } from '../../src/storage/threads/heartbeat.ts';

export interface MemberWorkerOptions {
  dir: string;
  log: string;
  instance: number;
  writerSilentMsMax?: number;
  turnlessMsMax?: number;
}

export type FromMember =
  | { type: 'joined' }
  | { type: 'event'; event: ClusterEvent }
  /** The first consumption on an instance was acknowledged, so the instance is in service in this process. */
  | { type: 'working'; instance: number; atMs: number }
  /** No transaction is under way, and none begins before the command `work`. */
  | { type: 'quiesced' }
  /** A session got this error, which ends all sessions of the instance in this process. */
  | { type: 'refused'; instance: number; operation: string; code: string };

const options = JSON.parse(process.argv[2]!) as MemberWorkerOptions;
const send = (message: FromMember) => void (process.connected && process.send!(message));
const out = openSync(options.log, 'a');
const note = (mark: string, ids: readonly string[]) =>
  writeSync(out, ids.map((id) => `${mark} ${id}\n`).join(''));

const enqueuers = 2;
const operations = 7;
const backlogMax = 300;
/** Pause of a session after each transaction, which leaves CPU for recovering processes. */
const pauseMs = 8;
let lastEnqueuer = 0;
/** While this is pending, sessions begin no transaction. */
let quiesce: PromiseWithResolvers<void> | undefined;
let sessions = 0;
let sessionsWaiting = 0;

async function waitWhileQuiesced(): Promise<void> {
  if (quiesce === undefined) return;
  sessionsWaiting += 1;
  if (sessionsWaiting === sessions) send({ type: 'quiesced' });
  await quiesce.promise;
  sessionsWaiting -= 1;
}

class Load {
  readonly #instance: Instance;
  readonly #ended: Promise<void>;
  #stopping = false;

  constructor(instance: Instance) {
    this.#instance = instance;
    const sessions = [this.#dequeue(), ...Array.from({ length: enqueuers }, () => this.#enqueue())];
    this.#ended = Promise.all(sessions).then(() => undefined);
  }

  async #enqueue(): Promise<void> {
    lastEnqueuer += 1;
    const name = `${process.pid}-${lastEnqueuer}`;
    await this.#repeat('enqueue', async (session, turn) => {
      if (this.#instance.queue('q').ready > backlogMax) return;
      const ids = Array.from({ length: operations }, (_, index) => `${name}.${turn * operations + index}`);
      for (const id of ids) session.enqueue('q', { payload: id });
      note('e', ids);
      await session.commit();
      note('E', ids);
    });
  }

  async #dequeue(): Promise<void> {
    let reported = false;
    await this.#repeat('dequeue', async (session, turn) => {
      const messages = await session.dequeue('q', { max: operations, waitMs: 20 });
      const ids = messages.map((message) => message.payload.toString());
      if (turn % 5 === 4) return session.rollback();
      note('d', ids);
      await session.commit();
      note('D', ids);
      if (ids.length > 0 && !reported) {
        reported = true;
        send({ type: 'working', instance: this.#instance.id, atMs: Date.now() });
      }
    });
  }

  async #repeat(
    operation: string,
    work: (session: ReturnType<Instance['openSession']>, turn: number) => Promise<void>,
  ): Promise<void> {
    sessions += 1;
    try {
      const session = this.#instance.openSession();
      for (let turn = 0; !this.#stopping; turn += 1) {
        await waitWhileQuiesced();
        await work(session, turn);
        await pause(pauseMs);
      }
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      send({ type: 'refused', instance: this.#instance.id, operation, code: error.code });
    } finally {
      sessions -= 1;
    }
  }

  close(): Promise<void> {
    this.#stopping = true;
    return this.#ended;
  }
}

const { dir, instance } = options;
const member = await ClusterMember.join({
  ...options,
  heartbeat: new HeartbeatThread({ dir, instance, pid: process.pid }, nodeClusterPorts.timers),
  ports: nodeClusterPorts,
  partitionMessagesMax: 64,
  serve: async (instance) => new Load(instance),
  onEvent: (event) => send({ type: 'event', event }),
});
type Command = 'start-failover' | 'block' | 'quiesce' | 'work' | 'stop-failover' | 'leave';
process.on('message', async (command: Command) => {
  if (command === 'start-failover') return member.startFailover();
  // For good, without taking a core: the event loop makes no turn any more.
  if (command === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (command === 'stop-failover') return member.stopFailover();
  if (command === 'quiesce') {
    quiesce = Promise.withResolvers();
    return;
  }
  if (command === 'work') {
    quiesce?.resolve();
    quiesce = undefined;
    return;
  }
  await member.leave();
  process.disconnect!();
});
process.on('disconnect', () => process.exit(0));
send({ type: 'joined' });
