/** The figures that the document's text and tables give. */

export interface DocumentRow {
  /** Pairs of sessions. */
  sessions: number;
  /** Messages that one session dequeued in 60 s. */
  messages: number;
  latchGets: number;
  latchNsPerGet: number;
  mutexGets: number;
  mutexNsPerGet: number;
  latchGetsPerDequeue: number;
  mutexGetsPerDequeue: number;
  latchNsPerDequeue: number;
  mutexNsPerDequeue: number;
}

const columns = [
  'sessions',
  'messages',
  'latchGets',
  'latchNsPerGet',
  'mutexGets',
  'mutexNsPerGet',
  'latchGetsPerDequeue',
  'mutexGetsPerDequeue',
  'latchNsPerDequeue',
  'mutexNsPerDequeue',
] as const satisfies readonly (keyof DocumentRow)[];

const rows: readonly (readonly number[])[] = [
  [1, 11_884, 108_318, 2_497, 361_105, 3_438, 9, 30, 22_759, 104_466],
  [2, 11_640, 148_303, 2_562, 429_493, 3_629, 13, 37, 32_642, 133_903],
  [4, 9_420, 155_862, 2_834, 415_825, 4_306, 17, 44, 46_891, 190_079],
  [8, 6_519, 243_571, 3_969, 630_757, 5_337, 37, 97, 148_295, 516_391],
  [16, 3_181, 187_259, 6_699, 497_035, 9_033, 59, 156, 394_357, 1_411_417],
  [32, 1_441, 138_192, 10_954, 380_492, 17_947, 96, 264, 1_050_489, 4_738_855],
  [64, 667, 93_584, 29_496, 258_710, 40_750, 140, 388, 4_138_461, 15_805_746],
];

/** Counts by power of two of nanoseconds: the value of the first bucket that is named, and the counts from there on. */
interface DocumentHistogram {
  fromNs: number;
  counts: readonly number[];
}

/** Gets that one more wake-up takes in the document's model: 12 · N · M of the mutex, 6 · N · M of the latch. */
export const modelGets = { mutex: 12, latch: 6 } as const;
export type GuardName = keyof typeof modelGets;
/** Gets of a dequeue that waited for its message and was woken once: its case 2. */
export const getsOfCase2 = { mutex: 30, latch: 9 } as const;

export const listenDocument = {
  table: rows.map(
    (row) => Object.fromEntries(columns.map((name, at) => [name, row[at]!])) as unknown as DocumentRow,
  ),
  /** Sessions up to which its total of dequeues rises. */
  peakSessions: 8,
  histograms: {
    latch: {
      4: { fromNs: 1_024, counts: [94_257, 42_290, 17_383, 1_127, 287, 158, 337, 17, 2, 4] },
      64: {
        fromNs: 1_024,
        counts: [64_970, 21_078, 5_382, 459, 680, 483, 302, 114, 26, 26, 11, 9, 17, 10, 4, 4, 4, 3, 2],
      },
    },
    mutex: {
      4: { fromNs: 2_048, counts: [235_503, 98_902, 3_262, 947, 568, 119, 44, 14, 12, 9, 6, 5, 14] },
      64: {
        fromNs: 2_048,
        counts: [
          166_007, 40_643, 2_751, 1_731, 1_890, 891, 405, 211, 158, 73, 31, 59, 47, 17, 18, 7, 5, 5, 2,
        ],
      },
    },
  } satisfies Record<GuardName, Record<number, DocumentHistogram>>,
  /** 80 and 80 sessions for ten minutes: what the report on each of the two methods lists. */
  report: {
    listen: {
      mutex: { waits: 4_075_073, seconds: 9_538.6, shareOfTime: 0.145 },
      latch: { waits: 68_333, seconds: 1_195.5, shareOfTime: 0.018 },
    },
    subscriber: { mutex: { waits: 1_070_942, seconds: 3_235, shareOfTime: 0.035 }, latch: null },
  },
  /** Its check of the model for the latch: gets that it computes for 64 sessions and 96,508 dequeues, and what a report counted. */
  check: {
    sessions: 64,
    dequeues: 96_508,
    computed: 37_059_072,
    withMisses: 40_293_887,
    counted: 43_999_351,
    misses: 3_234_815,
    sleeps: 130_568,
    spinGets: 3_107_867,
    recurrentSleeps: 3_620,
    /** Share of the count that is missing, with the misses added. */
    errorShare: 0.0842,
  },
  temporaryMade: 1_035,
  temporaryKept: 1_024,
  pollMs: { listen: 1_000, dequeue: 3_000 },
} as const;
