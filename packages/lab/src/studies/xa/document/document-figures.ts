/** The figures that the document's outputs give. Elapsed time and round trips are of the whole run, waits of one session. */

export type RunName = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6';

/**
 * Waits as the document prints them: event, times waited, longest wait in seconds, total in seconds. Events with no time in all
 * are left out.
 */
export type DocumentWait = readonly [event: string, waits: number, maxS: number, totalS: number];

export interface DocumentRun {
  /** Its heading. */
  title: string;
  elapsedS: number;
  /** Round trips and CPU of each session, 1/100 s. */
  roundTrips: readonly number[];
  cpuCs: readonly number[];
  /** Inserts of all sessions. */
  inserts: number;
  /** Rate in its words, transactions per second. */
  statedTps: number;
  waits: readonly DocumentWait[];
}

export const xaDocument: Readonly<Record<RunName, DocumentRun>> = {
  C1: {
    title: 'Test 1: single session to a single RAC instance',
    elapsedS: 24.347,
    roundTrips: [2_007],
    cpuCs: [42],
    inserts: 1_000,
    statedTps: 40,
    waits: [
      ['SQL*Net message to client', 2_004, 0, 0.01],
      ['SQL*Net message from client', 2_004, 0.15, 1.36],
      ['log file sync', 1_001, 0.08, 21.59],
    ],
  },
  C2: {
    title: 'Test 2: 2 sessions to 2 different RAC instances',
    elapsedS: 32.529,
    roundTrips: [2_007, 2_006],
    cpuCs: [46, 58],
    inserts: 2_000,
    statedTps: 60,
    waits: [
      ['SQL*Net message to client', 2_004, 0, 0.01],
      ['SQL*Net message from client', 2_004, 0.24, 4.95],
      ['log file sync', 1_002, 0.42, 28.81],
    ],
  },
  C3: {
    title: 'After switching to SSD: 2 sessions, 2 RAC instances',
    elapsedS: 5.062,
    roundTrips: [2_007, 2_006],
    cpuCs: [51, 55],
    inserts: 2_000,
    statedTps: 200,
    waits: [
      ['SQL*Net message to client', 2_004, 0, 0.01],
      ['SQL*Net message from client', 2_004, 0.1, 2.36],
      ['db file sequential read', 3, 0.01, 0.01],
      ['log file sync', 848, 0, 0.61],
      ['gc current grant busy', 3, 0.05, 0.05],
    ],
  },
  C4: {
    title: 'First XA test: 2 sessions pointing to a single RAC instance',
    elapsedS: 9.76,
    roundTrips: [4_574, 4_439],
    cpuCs: [77, 71],
    inserts: 2_000,
    statedTps: 100,
    waits: [
      ['SQL*Net message to client', 4_437, 0, 0.01],
      ['SQL*Net message from client', 4_437, 0.25, 5.69],
      ['DFS lock handle', 858, 0, 0.32],
      ['rdbms ipc reply', 1_469, 0.01, 1.15],
      ['log file sync', 837, 0, 0.71],
    ],
  },
  C5: {
    title: 'TEST XA2: 2 sessions on 2 instances, branch affinity',
    elapsedS: 35.347,
    roundTrips: [4_779, 4_234],
    cpuCs: [249, 228],
    inserts: 2_000,
    statedTps: 30,
    waits: [
      ['SQL*Net message to client', 4_776, 0, 0.02],
      ['SQL*Net message from client', 4_776, 0.13, 11],
      ['DFS lock handle', 2_550, 1, 10.28],
      ['rdbms ipc reply', 1_474, 0.01, 0.16],
      ['gc current grant busy', 809, 0.04, 0.38],
      ['log file sync', 4_116, 0.01, 4.82],
      ['gc current block 2-way', 180, 0, 0.08],
      ['gc cr block 2-way', 65, 0, 0.02],
      ['enq: TX - contention', 773, 0.01, 1.27],
      ['gc current block busy', 533, 0, 1.08],
      ['latch: ges resource hash list', 1_912, 0, 0.1],
      ['transaction', 1, 1, 1],
    ],
  },
  C6: {
    title: 'TEST XA3: 2 sessions on 2 instances, no branch affinity',
    elapsedS: 39.402,
    roundTrips: [4_793, 4_220],
    cpuCs: [270, 234],
    inserts: 2_000,
    statedTps: 27,
    waits: [
      ['SQL*Net message to client', 4_790, 0, 0.02],
      ['SQL*Net message from client', 4_790, 2.53, 14.26],
      ['DFS lock handle', 2_666, 1, 11.94],
      ['log file sync', 4_163, 0, 4.94],
      ['enq: TX - contention', 786, 0.01, 1.32],
      ['gc current block busy', 551, 0, 1.17],
      ['gc current grant busy', 817, 0.02, 0.26],
      ['gc current block 2-way', 178, 0, 0.09],
      ['gc cr block 2-way', 31, 0, 0.01],
      ['latch: ges resource hash list', 2_238, 0, 0.12],
      ['rdbms ipc reply', 1_607, 0, 0.15],
    ],
  },
};

/** Waits of ten XA transactions for the DFS lock handle and their times, µs. */
export const dfsWaitsOfTen = {
  'one instance': [661, 5_401, 636, 1_966, 366, 5_543],
  'two instances': [
    31_029, 491, 452, 3_880, 4_839, 3_269, 3_580, 1_634, 3_339, 3_747, 2_728, 366, 6_349, 3_268, 2_643, 1_959,
    1_211, 11_718, 5_743, 3_634, 829, 2_886, 1_796, 265, 1_333, 6_677, 3_113, 5_758, 3_695, 14_638, 3_250,
    12_738, 3_571, 8_979, 3_209,
  ],
} as const;

/** Calls of the client for a transaction with two branches. */
export const roundTripsOfXa = 9;

export const waitOf = ({ waits }: DocumentRun, event: string) => {
  const row = waits.find(([name]) => name === event);
  return { waits: row?.[1] ?? 0, totalS: row?.[3] ?? 0 };
};

/** Seconds that a run takes for one insert. */
export const perInsertS = ({ elapsedS, inserts }: DocumentRun): number => elapsedS / inserts;
