/** Every bound of the server, in one place, each with its unit and reason. */
export const limits = {
  /** Bodies that hold names, numbers and receipts only. */
  bodyBytes: 512 * 1024,
  /** Beyond a scenario's own bound, so that one slightly too large is refused by the lab, which says how large it is. */
  scenarioBodyBytes: 1024 * 1024,
  /** Payloads of a few messages at their largest, in base64; half of what one transaction may hold. */
  enqueueBodyBytes: 16 * 1024 * 1024,
  /** What a dequeue or a page of a browse may carry: it is built in memory as one JSON text. */
  responsePayloadBytes: 16 * 1024 * 1024,
  /** Dequeue calls under way; each may wait for half a minute. */
  dequeuesMax: 1_000,
  /** Payloads being sent by themselves, each with a few chunks of 256 KiB in memory. */
  downloadsMax: 64,
  /** An enqueue that a failing process did not commit is made again: nothing of it was stored. */
  enqueueAttemptsMax: 3,
  /** Sessions kept for connections that enqueue; those idle longest go first. */
  sessionsMax: 1_000,
  /** Faults named in one answer: a person mends no more at a time. */
  faultsMax: 20,
  scenariosMax: 500,
  runsWaitingMax: 20,
  /** Runs kept in the history; the oldest go first. */
  runsKeptMax: 500,
  /** Ticks kept of one run, count and bytes of JSON; past either, every second one goes. */
  ticksKeptMax: 600,
  ticksKeptBytes: 3 * 1024 * 1024,
  /** Events kept for clients that resume, count and bytes. */
  eventsKeptMax: 1_000,
  eventsKeptBytes: 4 * 1024 * 1024,
  /** The load of the cluster page: few sessions, so that a look at a failover leaves the machine to itself. */
  load: {
    enqueuers: 8,
    dequeuers: 4,
    messagesPerCommit: 5,
    /** Short enough to show a pause of a few hundred milliseconds. */
    sampleMs: 250,
    /** Before a call that failed in passing is made again. */
    retryMs: 20,
    /** Beyond a failover by far. */
    drainMsMax: 20_000,
  },
  /** How often those who watch the cluster hear of it; a look costs two small reads of files. */
  clusterTickMs: 500,
  /** Partitions of a shard that they hear of, the newest: a large backlog has thousands. */
  partitionsWatchedMax: 12,
  streamsMax: 64,
  /** What a slow reader of a stream may leave unread; more than the largest snapshot, so that a fresh one fits. */
  streamUnreadBytes: 16 * 1024 * 1024,
  /** Proxies drop a connection on which nothing came for half a minute or more. */
  heartbeatMs: 15_000,
  /** Time for a client to send its whole request, or, of a streamed payload, the next piece of it. */
  requestMs: 30_000,
} as const;
