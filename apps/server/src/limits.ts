/** All limits of the server, each with its unit and reason. */
export const limits = {
  /** UTF-16 units of a parameter in a path: the name of a subscriber has up to 128 characters of one or two. */
  pathParameterUnitsMax: 256,
  /** For bodies that hold only names, numbers and receipts. */
  bodyBytes: 512 * 1024,
  /** Above the lab's own limit, so that a slightly too large scenario is refused by the lab, which reports its size. */
  scenarioBodyBytes: 1024 * 1024,
  /** An exported run; the largest, of 512 points with five repeats, has about 6 MiB, and 4 MiB of ticks. */
  runBodyBytes: 16 * 1024 * 1024,
  /** Reading and staging 1 MiB of JSON takes 4 to 50 ms, in which no queue is served. Larger payloads are streamed. */
  enqueueBodyBytes: 1024 * 1024,
  /** Bytes of bodies in memory, over all connections; parsed they take several times as much. */
  bodiesBytesMax: 32 * 1024 * 1024,
  /** A smaller answer fits into a packet or two anyway, and compressing it would take longer than sending it. */
  compressedBytesMin: 2_048,
  /** Payload bytes in one dequeue or browse response, which is built in memory as one JSON text. */
  responsePayloadBytes: 16 * 1024 * 1024,
  /**
   * Payload bytes in answers that clients have not read yet, over all connections; as JSON they take up to a third more. One client
   * gets at most three quarters of them, which is twelve of the largest answers.
   */
  answersBytesMax: 256 * 1024 * 1024,
  /** Bytes of messages in one redrive. The engine's transactions have 32 MiB, of which each message needs some bytes more. */
  redriveBytes: 31 * 1024 * 1024,
  /** Bytes of one message of a redrive: a payload of 1 MiB, and its keys and properties. */
  redrivenMessageBytesMax: (1024 + 128) * 1024,
  /** Concurrent dequeue calls; each may wait for half a minute. One queue gets at most half of them. */
  dequeuesMax: 2_000,
  /** Concurrent uploads of streamed payloads: as many as the engine takes. */
  uploadsMax: 64,
  /** Concurrent downloads of streamed payloads, each with a few chunks of 256 KiB in memory. */
  downloadsMax: 64,
  /** Attempts to commit an enqueue. After `TX_NOT_COMMITTED` nothing was stored, so it is safe to try again. */
  enqueueAttemptsMax: 3,
  /** Sessions of connections that enqueue; the one that was idle longest is closed first. */
  sessionsMax: 1_000,
  scenariosMax: 500,
  runsWaitingMax: 20,
  /** Runs kept in the history; the oldest is deleted first. */
  runsKeptMax: 500,
  /** UTF-16 units of one stored point, tick or column of a run: an imported run has no more in all. */
  storedTextMax: 16 * 1024 * 1024,
  /** A history up to this size is checked as a whole when it is opened, about 1 ms a MiB; damage of a larger one is found by its readers. */
  historyCheckedBytes: 64 * 1024 * 1024,
  /** Runs whose points are read to be compared with the model, the newest first. */
  runsComparedMax: 30,
  /** How long the machine is observed before its load is reported: long enough for 25 ticks of the kernel's clock. */
  machineWatchedMs: 250,
  /**
   * Ticks kept per run, by count and by bytes of JSON; beyond either limit every second tick is dropped. The longest figure of a
   * document has some 5,000, so that of each of its trials some are left.
   */
  ticksKeptMax: 2_400,
  ticksKeptBytes: 4 * 1024 * 1024,
  /** Events kept for clients that resume, by count and by bytes. */
  eventsKeptMax: 1_000,
  eventsKeptBytes: 4 * 1024 * 1024,
  /** The load of the cluster page: few sessions, so that it leaves most of the CPU to the failover it shows. */
  load: {
    enqueuers: 8,
    dequeuers: 4,
    messagesPerCommit: 5,
    /** Sampling interval, short enough to show an outage of a few hundred milliseconds. */
    sampleMs: 250,
    /** Pause before a call that failed with a transient error is repeated. */
    retryMs: 20,
    /** Far longer than a failover takes. */
    drainMsMax: 20_000,
  },
  /** Interval of the cluster's event stream; each tick costs two small file reads. */
  clusterTickMs: 500,
  /** Kept samples of the queues' depths and rates: 300 + 240 + 288 for each queue. */
  historyRanges: {
    '10m': { everyMs: 2_000, kept: 300 },
    '1h': { everyMs: 15_000, kept: 240 },
    '24h': { everyMs: 300_000, kept: 288 },
  },
  /** Pages of the engine in one browse: of each instance, and of 10,000 messages that are searched for those in one state. */
  browsePagesMax: 12,
  historyQueuesMax: 200,
  /** Queues whose statistics are read for each sample. */
  historyStatisticsMax: 50,
  /** A server that is killed loses the samples of this time. */
  historySaveMs: 10_000,
  /** How long the result of a probe commit is shown with its instance. */
  probeKeptMs: 10_000,
  /** Time for the queues' part of a scrape of the metrics: an instance that fails over must not hold up the rest. */
  scrapeMs: 3_000,
  /** The newest partitions of each shard in that stream; a large backlog has thousands. */
  partitionsWatchedMax: 12,
  streamsMax: 128,
  /** Connections of clients. One client gets at most three quarters of them. */
  connectionsMax: 8_192,
  /** Bytes that a client of a stream may have left unread when it gets the next frame. */
  streamUnreadBytes: 16 * 1024 * 1024,
  /** The same over all streams; the one that is furthest behind is closed first. */
  streamsUnreadBytes: 64 * 1024 * 1024,
  /** Proxies close connections that are silent for half a minute or more. */
  heartbeatMs: 15_000,
  /** Sessions of browsers that have shown the key; beyond the number the oldest ends. */
  browser: { sessionMs: 12 * 60 * 60_000, sessionsMax: 1_000 },
  /** Wrong keys. The first `free` ones of an address cost nothing, because of typing errors; then it waits, twice as long each time. */
  wrongKeys: {
    free: 3,
    waitMsMin: 1_000,
    waitMsMax: 60_000,
    forgottenMs: 15 * 60_000,
    addressesMax: 10_000,
  },
  /** Time for a client to send its headers, and for a body that is not streamed. */
  requestMs: 30_000,
  /** The slowest that a client may send a body: 16 KiB/s is the slowest mobile connection in use. */
  bodyPace: { graceMs: 5_000, windowMs: 10_000, bytesPerSecMin: 16 * 1024 },
  /** Interval at which a client that has ended its sending side is asked whether it is still there, while its answer waits. */
  halfClosedAskMs: 250,
  /** With several instances, how long a new connection may send nothing and still be moved to the process of an instance. */
  firstBytesMs: 1_000,
  /** Time for requests in progress to end when the server shuts down; then their connections are closed. */
  closeGraceMs: 3_000,
} as const;
