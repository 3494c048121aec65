/**
 * An emulated disk, whose syncs take the longer of its own time and the real disk's: the writer waits for what is left when the real
 * sync is over. Instances that share one are in several threads or processes, so its state is a row of a small file: until when
 * it is busy, and how many syncs it has served. A sync reserves its time, as it begins, behind those before it, so the disk serves one
 * after the other, in the order in which they came.
 */
import Database from 'better-sqlite3';
import { type EmulatedSync, isEmulated } from '../model/emulated-sync.ts';
import type { CallingThread, MachineClock } from '../model/ports.ts';

export interface EmulatedDisk {
  /** The real sync begins now. */
  begin(): void;
  /** The real sync is over: blocks the thread until the emulated one that began with it is too. */
  end(): void;
  close(): void;
}

/** Longer than any queue of writers can be: such a file is of an earlier boot, whose clock began elsewhere. */
const busyMsMax = 64_000;
const lockMsMax = 10_000;

/** Undefined if no sync is emulated. */
export function openEmulatedDisk(
  sync: EmulatedSync,
  { machineClock: clock, thread }: { machineClock: MachineClock; thread: Pick<CallingThread, 'sleep'> },
): EmulatedDisk | undefined {
  if (!isEmulated(sync)) return undefined;
  const reservations = sync.device === undefined ? ownReservations(sync) : openShared(sync.device, sync);
  let endMs = 0;
  return {
    begin() {
      endMs = reservations.reserve(clock.nowMs());
    },
    end() {
      const leftMs = endMs - clock.nowMs();
      if (leftMs > 0) thread.sleep(leftMs);
    },
    close: () => reservations.close(),
  };
}

interface Reservations {
  /** When the sync that begins at this time ends, milliseconds of the machine's clock. */
  reserve(nowMs: number): number;
  close(): void;
}

const timeOf = ({ times }: EmulatedSync, served: number): number => times[served % times.length]!;

/** Reservations of a single writer, which begins no sync before the last one has ended. */
function ownReservations(sync: EmulatedSync): Reservations {
  let served = 0;
  return {
    reserve(nowMs) {
      const endMs = nowMs + timeOf(sync, served);
      served += 1;
      return endMs;
    },
    close() {},
  };
}

interface DiskRow {
  busyUntilMs: number;
  served: number;
}

function openShared(path: string, sync: EmulatedSync): Reservations {
  const file = new Database(path, { timeout: lockMsMax });
  // Nothing in it must survive a crash.
  file.pragma('synchronous = OFF');
  file.exec(`
    CREATE TABLE IF NOT EXISTS disk (id INTEGER PRIMARY KEY CHECK (id = 1), busyUntilMs REAL NOT NULL, served INTEGER NOT NULL);
    INSERT OR IGNORE INTO disk VALUES (1, 0, 0);
  `);
  const read = file.prepare<[], DiskRow>('SELECT busyUntilMs, served FROM disk');
  const write = file.prepare<[number]>('UPDATE disk SET busyUntilMs = ?, served = served + 1');
  const reserve = file.transaction((nowMs: number): number => {
    const { busyUntilMs, served } = read.get()!;
    const isBusy = busyUntilMs > nowMs && busyUntilMs < nowMs + busyMsMax;
    const endMs = (isBusy ? busyUntilMs : nowMs) + timeOf(sync, served);
    write.run(endMs);
    return endMs;
  });
  return { reserve: (nowMs) => reserve.immediate(nowMs), close: () => file.close() };
}
