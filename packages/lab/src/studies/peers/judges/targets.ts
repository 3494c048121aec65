/**
 * The project's targets. A ratio is of the same run, because rates alone are not comparable between machines. R is the rate at
 * which SQLite alone inserts rows, a thousand in a transaction with pages of 16 KiB: its best.
 */
export const targets = {
  /** Dequeues per second over R: two instances with 10 messages a transaction, with 1,000, and one instance with 1. */
  queue10OfR: 0.75,
  queue1000OfR: 0.8,
  queue1OfR: 0.22,
  /** Commits of one session over those of the raw loop. */
  singleOfRaw: 0.5,
  /** Deliveries per second to ten subscribers over R. */
  topicOfR: 3,
  /** CPU per message, unsharded over sharded. */
  unshardedCpu: 4,
  /** Dequeues per second of the unsharded queue over rows of the raw cycle. */
  unshardedOfRaw: 0.7,
  unshardedOverPlainjob: 1,
  /** Remote dequeues per second over those of the fastest server that syncs, by messages a transaction; and over any server. */
  overSyncedPeers: { 1: 1.5, 10: 2.5, 1000: 3 },
  overPeers: 1,
  /** Remote enqueues alone over those of the fastest server that syncs. */
  enqueuesOverSyncedPeers: 1,
  /** Dequeue rate with a large backlog over that with a small one. */
  backlog: 0.8,
  /** Messages; a smaller one proves less. */
  backlogLarge: 10_000_000,
  /** Enqueues over dequeues. */
  enqueuesKeepUp: 0.95,
  /** CPU per delivery to ten subscribers over that to one. */
  topicCpu: 1 / 3,
  /** Ours over the best of the synced peers. */
  latency: 1,
  eventLoopDelayMs: 5,
  residentMiB: 512,
  readyAfterKillMs: 5_000,
  /** Requests per second of a REST enqueue over those of a route that only validates the same body. */
  restOverValidation: 0.7,
  /** Messages of 512 bytes that REST enqueues a second, in batches of 100. */
  restBatchedPerSec: 150_000,
  /** REST with two instances over one, and its dequeues over its enqueues. */
  restSecondInstance: 1,
  restDequeues: 1,
} as const;
