/** Bounds of this store, each with its unit and reason. Those of messages and calls are the engine's. */
export const storeLimits = {
  /** Messages of one atomic batch: the servers' default limit, which a client cannot query. */
  batchMessagesMax: 1_000,
  /** How long the servers remember message ids. A commit is tried again for less than half of it. */
  dedupWindowMs: 120_000,
  /** How long a commit is tried again while its outcome is unknown. An election takes some 5 s. */
  outcomeMsDefault: 20_000,
  outcomeMsMax: 50_000,
  /** One attempt of any request: well over the latency of a synced, replicated write. */
  requestMs: 2_000,
  /** Pause before the next attempt. */
  retryPauseMs: 100,
  /** Without an answer of JetStream for this long, another server is tried: this one may be cut off from the others. */
  silentMsMax: 3_000,
  /** How long connecting, and a call that is no commit, are tried. */
  callMsDefault: 15_000,
  /** Time after which servers deliver a message again whose holder is silent. Holders report three times in it. */
  ackWaitMsDefault: 30_000,
  ackWaitMsMin: 3_000,
  ackWaitMsMax: 600_000,
  /** Share of `ackWaitMs` by which a hold counts as ended earlier than by the servers, for clocks that differ. */
  clockShare: 1 / 15,
  /** Waiting requests of one consumer, over all processes. */
  waitingMax: 10_000,
  /** Delivered and unacknowledged messages of one consumer. */
  holdsMax: 1_000_000,
  /** Messages that a dequeue may fetch beyond its `max`. */
  prefetchDefault: 0,
  prefetchMax: 1_000,
  /** Prefetched messages that no call takes are returned after this time. */
  prefetchIdleMs: 1_000,
  /** A nondurable subscriber ends after this long without a dequeue, if its process could not remove it. */
  nondurableIdleMs: 3_600_000,
  /** How old the knowledge of a queue may be: the bound within which other processes notice a stop. */
  queueRowMsMax: 1_000,
  /** Part of the largest message of the server that is left for the headers. */
  headerBytesMax: 128 * 1024,
} as const;
