/**
 * An emulated disk, which makes the writer wait at each sync. Instances that share one are in several threads or processes, so
 * its state is a row of a small file: until when it is busy, and how many syncs it has served. A sync reserves its time behind
 * those before it and waits until that has passed, so the disk serves one after the other, in the order in which they came.
 */
import Database from 'better-sqlite3';
import { type EmulatedSync, isEmulated } from '../model/emulated-sync.ts';
import type { MachineClock } from '../model/ports.ts';

export interface EmulatedDisk {
  /** Blocks the thread for as long as the sync takes. */
  sync(): void;
  close(): void;
}

/** Longer than any queue of writers can be: such a file is of an earlier boot, whose clock began elsewhere. */
const busyMsMax = 64_000;
const lockMsMax = 10_000;

/** Undefined if syncs take no further time. */
export function openEmulatedDisk(sync: EmulatedSync, clock: MachineClock): EmulatedDisk | undefined {
  if (!isEmulated(sync)) return undefined;
  return sync.device === undefined ? ownDisk(sync) : new SharedDisk(sync.device, sync, clock);
}

const signal = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms: number): void => {
  if (ms > 0) Atomics.wait(signal, 0, 0, ms);
};
const timeOf = ({ times }: EmulatedSync, served: number): number => times[served % times.length]!;

function ownDisk(sync: EmulatedSync): EmulatedDisk {
  let served = 0;
  return {
    sync() {
      pause(timeOf(sync, served));
      served += 1;
    },
    close() {},
  };
}

interface DiskRow {
  busyUntilMs: number;
  served: number;
}

class SharedDisk implements EmulatedDisk {
  readonly #file: Database.Database;
  readonly #reserve: () => number;

  constructor(path: string, sync: EmulatedSync, clock: MachineClock) {
    this.#file = new Database(path, { timeout: lockMsMax });
    // Nothing in it must survive a crash.
    this.#file.pragma('synchronous = OFF');
    this.#file.exec(`
      CREATE TABLE IF NOT EXISTS disk (id INTEGER PRIMARY KEY CHECK (id = 1), busyUntilMs REAL NOT NULL, served INTEGER NOT NULL);
      INSERT OR IGNORE INTO disk VALUES (1, 0, 0);
    `);
    const read = this.#file.prepare<[], DiskRow>('SELECT busyUntilMs, served FROM disk');
    const write = this.#file.prepare<[number]>('UPDATE disk SET busyUntilMs = ?, served = served + 1');
    const reserve = this.#file.transaction((nowMs: number): number => {
      const { busyUntilMs, served } = read.get()!;
      const isBusy = busyUntilMs > nowMs && busyUntilMs < nowMs + busyMsMax;
      const endMs = (isBusy ? busyUntilMs : nowMs) + timeOf(sync, served);
      write.run(endMs);
      return endMs - nowMs;
    });
    this.#reserve = () => reserve.immediate(clock.nowMs());
  }

  sync(): void {
    pause(this.#reserve());
  }

  close(): void {
    this.#file.close();
  }
}
