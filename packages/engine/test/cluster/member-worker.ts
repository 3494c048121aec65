/**
 * A process of a cluster under load: whatever instance it hosts, its own or one taken over, two sessions enqueue to it and one
 * dequeues, and all that is tried and acknowledged is written down (`ledger.ts` reads it). A line is written by one system
 * call, so what the line says happened before a kill.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterEvent } from '../../src/cluster/cluster-events.ts';
import { ClusterMember } from '../../src/cluster/cluster-member.ts';
import { nodeClusterPorts } from '../../src/cluster/node-cluster-ports.ts';
import { type Instance, QueueError } from '../../src/index.ts';

export interface MemberWorkerOptions {
  dir: string;
  log: string;
  instance: number;
  writerSilentMsMax?: number;
}

export type FromMember =
  | { type: 'joined' }
  | { type: 'event'; event: ClusterEvent }
  /** The first consumption on an instance was acknowledged: it is in service here. */
  | { type: 'working'; instance: number; atMs: number }
  /** No transaction is under way, and none is begun until told to. */
  | { type: 'calm' }
  /** A session met this error, and all of its instance here end with it. */
  | { type: 'refused'; instance: number; operation: string; code: string };

const options = JSON.parse(process.argv[2]!) as MemberWorkerOptions;
const send = (message: FromMember) => void (process.connected && process.send!(message));
const out = openSync(options.log, 'a');
const note = (mark: string, ids: readonly string[]) =>
  writeSync(out, ids.map((id) => `${mark} ${id}\n`).join(''));

const enqueuers = 2;
const operations = 7;
const backlogMax = 300;
/** Of a session after each transaction: CPU is left for the processes that recover. */
const pauseMs = 8;
let lastEnqueuer = 0;
/** Sessions begin nothing as long as this is pending: they wait at the gate. */
let calm: PromiseWithResolvers<void> | undefined;
let sessions = 0;
let atGate = 0;

async function gate(): Promise<void> {
  if (calm === undefined) return;
  atGate += 1;
  if (atGate === sessions) send({ type: 'calm' });
  await calm.promise;
  atGate -= 1;
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
        await gate();
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

const member = await ClusterMember.join({
  ...options,
  ports: nodeClusterPorts,
  partitionMessagesMax: 64,
  serve: async (instance) => new Load(instance),
  onEvent: (event) => send({ type: 'event', event }),
});
process.on('message', async (command: 'start-failover' | 'calm' | 'work' | 'stop-failover' | 'leave') => {
  if (command === 'start-failover') return member.startFailover();
  if (command === 'stop-failover') return member.stopFailover();
  if (command === 'calm') {
    calm = Promise.withResolvers();
    return;
  }
  if (command === 'work') {
    calm?.resolve();
    calm = undefined;
    return;
  }
  await member.leave();
  process.disconnect!();
});
process.on('disconnect', () => process.exit(0));
send({ type: 'joined' });
