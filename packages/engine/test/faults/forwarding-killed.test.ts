/**
 * One of two instances that forward messages is killed right before one of its writes, syncs or truncations: while it sends, receives
 * or returns messages, or records the state of the forwarding. Then it is killed once more while it recovers.
 */
import { describe, expect, it } from 'vitest';
import { openInstance, type Session, serveInstance } from '../../src/index.ts';
import { makeFolder, text } from '../folder.ts';
import { drawnSeed, isTorture } from '../random.ts';
import { killedAtCall, noFailingDisk } from './failing-disk.ts';
import type { FaultProcess } from './fault-process.ts';

const partitionMessagesMax = 4;
const forwardIdleMs = 10;
const owner = 1;
const receiver = 2;
const steps = 6;
const puts = 3;
const takes = 2;
/** One write in so many is tried, so that a test takes seconds. The seed chooses the first one. */
const stride = isTorture ? 43 : 127;

/** Enqueues and dequeues on an instance in this or another process. */
interface Endpoint {
  put(payloads: string[]): Promise<unknown>;
  take(max: number): Promise<string[]>;
}

class LocalEndpoint implements Endpoint {
  readonly #session: Session;
  readonly close: () => Promise<void>;
  readonly counts: () => { forwardedIn: number; forwardedOut: number; open: number };

  private constructor(session: Session, counts: LocalEndpoint['counts'], close: () => Promise<void>) {
    this.#session = session;
    this.counts = counts;
    this.close = close;
  }

  static async open(dir: string, id: number): Promise<LocalEndpoint> {
    const instance = await openInstance({ dir, instance: id, partitionMessagesMax });
    if (instance.queues().length === 0) await instance.createQueue({ name: 'q' });
    const served = await serveInstance(instance, { forwardIdleMs });
    const counts = () => {
      const { enqueued, forwardedIn, forwardedOut, consumed, ready, held } = instance.queue('q');
      expect(enqueued + forwardedIn, `messages of instance ${id}`).toBe(
        ready + held + consumed + forwardedOut,
      );
      return { forwardedIn, forwardedOut, open: ready + held };
    };
    return new LocalEndpoint(instance.openSession(), counts, async () => {
      await served.close();
      await instance.close();
    });
  }

  async put(payloads: string[]): Promise<void> {
    for (const payload of payloads) this.#session.enqueue('q', { payload });
    await this.#session.commit();
  }

  async take(max: number, wait: { waitMs?: number; signal?: AbortSignal } = {}): Promise<string[]> {
    const payloads = text(await this.#session.dequeue('q', { max, waitMs: 10_000, ...wait }));
    await this.#session.commit();
    return payloads;
  }
}

/** The messages that must be stored, and the step that was in progress when a process was killed. */
class Ledger {
  readonly stored: string[] = [];
  #putting: string[] = [];
  #taking = 0;

  async put(endpoint: Endpoint, payloads: string[]): Promise<void> {
    this.#putting = payloads;
    await endpoint.put(payloads);
    this.#putting = [];
    this.stored.push(...payloads);
  }

  async take(endpoint: Endpoint): Promise<void> {
    this.#taking = takes;
    const taken = await endpoint.take(takes);
    this.#taking = 0;
    // Whichever process was killed, a dequeue returns the next messages or none.
    expect(taken).toEqual(this.stored.splice(0, taken.length));
  }

  /** The payloads that may be left: the step in progress took effect as a whole or not at all. */
  get allowed(): string[][] {
    const prefixes = Array.from({ length: this.#taking + 1 }, (_, taken) => this.stored.slice(taken));
    return [...prefixes, ...prefixes.map((left) => [...left, ...this.#putting])].map((each) =>
      each.toSorted(),
    );
  }

  /** Whether no consumer can have received the message yet. */
  isUnseen(payload: string): boolean {
    return this.stored.indexOf(payload) >= this.#taking;
  }
}

/** Messages are forwarded from the owner to the receiver, and some are returned. Returns whether the victim was killed. */
async function work(
  victim: FaultProcess,
  survivor: LocalEndpoint,
  survives: number,
  ledger: Ledger,
): Promise<boolean> {
  const victimEnded = new AbortController();
  victim.ended.catch(() => victimEnded.abort());
  const remote: Endpoint = {
    put: (payloads) => victim.put('q', ...payloads),
    take: (max) => victim.take('q', max, { waitMs: 10_000 }),
  };
  const local: Endpoint = {
    put: (payloads) => survivor.put(payloads),
    take: (max) => survivor.take(max, { signal: victimEnded.signal }),
  };
  const endpoints = survives === owner ? [local, remote] : [remote, local];
  try {
    for (let step = 0; step < steps; step += 1) {
      const payloads = Array.from({ length: puts }, (_, index) => `${step}${'abc'[index]}`);
      await ledger.put(endpoints[0]!, payloads);
      await ledger.take(endpoints[step % 3 === 2 ? 0 : 1]!);
      if (victimEnded.signal.aborted) return true;
    }
    await victim.close();
    return false;
  } catch (error) {
    if (String(error).includes('SIGKILL')) return true;
    throw error;
  }
}

/** A consumer on either instance receives everything once and in order, and the counts of both instances agree. */
async function expectSound(
  endpoints: readonly LocalEndpoint[],
  from: LocalEndpoint,
  ledger: Ledger,
): Promise<void> {
  const open = () => endpoints.reduce((sum, endpoint) => sum + endpoint.counts().open, 0);
  const found: string[] = [];
  while (open() > 0) found.push(...(await from.take(99, { waitMs: 100 })));
  expect(ledger.allowed).toContainEqual(found.toSorted());
  const unseen = found.filter((payload) => ledger.isUnseen(payload));
  expect(unseen, 'first deliveries in order').toEqual(unseen.toSorted());
  const balance = () =>
    endpoints.reduce(
      (sum, endpoint) => sum + endpoint.counts().forwardedIn - endpoint.counts().forwardedOut,
      0,
    );
  await expect.poll(balance).toBe(0);
}

describe.skipIf(noFailingDisk)(
  `killed at its writes (${noFailingDisk ?? `one in ${stride} is tried`})`,
  () => {
    it.each([
      ['sends', owner, receiver],
      ['receives', receiver, owner],
    ])(
      'and again in its recovery, an instance that %s messages loses and duplicates nothing',
      {
        timeout: 300_000,
      },
      async (_, victim, survives) => {
        const first = 1 + (drawnSeed % stride);
        console.info(`instance ${victim} killed at a write: from call ${first} on`);
        let kills = 0;
        for (let call = first; ; call += stride) {
          const dir = makeFolder();
          const survivor = await LocalEndpoint.open(dir, survives);
          const ledger = new Ledger();
          const killed = killedAtCall(call, { instance: victim });
          const isOpen = await open(killed, dir, victim);
          if (isOpen && !(await work(killed, survivor, survives, ledger))) {
            await survivor.close();
            break;
          }
          kills += 1;
          const again = killedAtCall(1 + (kills % 9), { instance: victim });
          await open(again, dir, victim);
          await again.kill();
          const revived = await LocalEndpoint.open(dir, victim);
          await expectSound([survivor, revived], kills % 2 === 0 ? survivor : revived, ledger);
          await revived.close();
          await survivor.close();
        }
        // The number of writes depends on the machine: where it is slow, a group takes in more messages.
        expect(kills).toBeGreaterThan(1);
      },
    );
  },
);

/** Opens and serves an instance in the process; resolves with false if the process was killed before. */
async function open(process: FaultProcess, dir: string, instance: number): Promise<boolean> {
  try {
    await process.open({ dir, instance, partitionMessagesMax });
    await process.serve({ forwardIdleMs });
    return true;
  } catch (error) {
    if (String(error).includes('SIGKILL')) return false;
    throw error;
  }
}
