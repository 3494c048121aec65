/**
 * One of two instances between which messages move is killed right before one of its writes, syncs or cuts: while it sends,
 * receives, returns messages or records what it knows of the other. Then it is killed once more while it recovers from that.
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
/** Only a sample of the writes, so that a test takes seconds; another seed starts at another write. */
const stride = isTorture ? 43 : 127;

/** Enqueues or dequeues, on an instance in this or another process. */
interface Side {
  put(payloads: string[]): Promise<unknown>;
  take(max: number): Promise<string[]>;
}

class Here implements Side {
  readonly #session: Session;
  readonly close: () => Promise<void>;
  readonly counts: () => { forwardedIn: number; forwardedOut: number; open: number };

  private constructor(session: Session, counts: Here['counts'], close: () => Promise<void>) {
    this.#session = session;
    this.counts = counts;
    this.close = close;
  }

  static async open(dir: string, id: number): Promise<Here> {
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
    return new Here(instance.openSession(), counts, async () => {
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

/** What was acknowledged, and what was in progress when a process was killed. */
class Ledger {
  readonly there: string[] = [];
  #putting: string[] = [];
  #taking = 0;

  async put(side: Side, payloads: string[]): Promise<void> {
    this.#putting = payloads;
    await side.put(payloads);
    this.#putting = [];
    this.there.push(...payloads);
  }

  async take(side: Side): Promise<void> {
    this.#taking = takes;
    const taken = await side.take(takes);
    this.#taking = 0;
    // Whichever process was killed, a dequeue returns the next messages, or none.
    expect(taken).toEqual(this.there.splice(0, taken.length));
  }

  /** What may be left: messages in doubt are present as a whole or not at all. */
  get allowed(): string[][] {
    const prefixes = Array.from({ length: this.#taking + 1 }, (_, taken) => this.there.slice(taken));
    return [...prefixes, ...prefixes.map((left) => [...left, ...this.#putting])].map((each) =>
      each.toSorted(),
    );
  }

  /** Whether nobody can have received the message yet. */
  isUnseen(payload: string): boolean {
    return this.there.indexOf(payload) >= this.#taking;
  }
}

/** Messages go from the owner to the receiver, and return to it halfway. Returns whether the victim was killed. */
async function work(
  victim: FaultProcess,
  survivor: Here,
  survives: number,
  ledger: Ledger,
): Promise<boolean> {
  const gone = new AbortController();
  victim.ended.catch(() => gone.abort());
  const there: Side = {
    put: (payloads) => victim.put('q', ...payloads),
    take: (max) => victim.take('q', max, { waitMs: 10_000 }),
  };
  const here: Side = {
    put: (payloads) => survivor.put(payloads),
    take: (max) => survivor.take(max, { signal: gone.signal }),
  };
  const sides = survives === owner ? [here, there] : [there, here];
  try {
    for (let step = 0; step < steps; step += 1) {
      const payloads = Array.from({ length: puts }, (_, index) => `${step}${'abc'[index]}`);
      await ledger.put(sides[0]!, payloads);
      await ledger.take(sides[step % 3 === 2 ? 0 : 1]!);
      if (gone.signal.aborted) return true;
    }
    await victim.close();
    return false;
  } catch (error) {
    if (String(error).includes('SIGKILL')) return true;
    throw error;
  }
}

/** A consumer on either instance receives everything once and in order, and the counts of both instances agree. */
async function expectSound(sides: readonly Here[], from: Here, ledger: Ledger): Promise<void> {
  const open = () => sides.reduce((sum, side) => sum + side.counts().open, 0);
  const found: string[] = [];
  while (open() > 0) found.push(...(await from.take(99, { waitMs: 100 })));
  expect(ledger.allowed).toContainEqual(found.toSorted());
  const unseen = found.filter((payload) => ledger.isUnseen(payload));
  expect(unseen, 'first deliveries in order').toEqual(unseen.toSorted());
  const balance = () =>
    sides.reduce((sum, side) => sum + side.counts().forwardedIn - side.counts().forwardedOut, 0);
  await expect.poll(balance).toBe(0);
}

describe.skipIf(noFailingDisk)(`at its writes (${noFailingDisk ?? `one in ${stride} is tried`})`, () => {
  it.each([
    ['sends', owner, receiver],
    ['receives', receiver, owner],
  ])(
    'an instance that %s messages may be killed, and again while it recovers',
    {
      timeout: 300_000,
    },
    async (_, victim, survives) => {
      const first = 1 + (drawnSeed % stride);
      console.info(`instance ${victim} killed at a write: from call ${first} on`);
      let kills = 0;
      for (let call = first; ; call += stride) {
        const dir = makeFolder();
        const survivor = await Here.open(dir, survives);
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
        const revived = await Here.open(dir, victim);
        await expectSound([survivor, revived], kills % 2 === 0 ? survivor : revived, ledger);
        await revived.close();
        await survivor.close();
      }
      expect(kills).toBeGreaterThan(2);
    },
  );
});

/** Resolves with whether it got so far. */
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
