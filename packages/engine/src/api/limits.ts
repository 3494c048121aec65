/** Every bound of the engine, in one place, each with its unit and reason. */
export const limits = {
  /** A larger payload must be streamed. Up to this size it is one row and one cache entry. */
  payloadBytesMax: 1024 * 1024,
  /** Size of a streamed payload. It is never in memory as a whole, and each chunk is one row. */
  streamedBytesMax: 1024 * 1024 * 1024,
  /** One row of a streamed payload. Copying it delays concurrent commits by well under a millisecond. */
  chunkBytes: 256 * 1024,
  /** Chunks being written at a time, over all uploads, so that a group of commits carries few of them. */
  chunksInFlightMax: 2,
  /** Chunks that one background transaction deletes: freeing a chunk touches each of its pages. */
  chunksDeletedPerStepMax: 16,
  /** Parts of a payload, one chunk each, that a client sends before an answer: one is stored while the next arrives. */
  uploadPartsMax: 2,
  /** Concurrent uploads. Each has two chunks in memory, and two more parts if it arrives over a socket. */
  uploadsMax: 64,
  /** Messages whose payload is stored in chunks: each is an entry in memory. */
  streamedPayloadsMax: 100_000,
  /** Correlation id and group key, UTF-8 bytes: they are part of each message and in memory while it is cached. */
  keyBytesMax: 512,
  /** Properties of a message: how many, and their bytes as JSON. */
  propertiesMax: 64,
  propertiesBytesMax: 64 * 1024,
  /** A transaction is in memory until it commits. */
  transactionBytesMax: 32 * 1024 * 1024,
  transactionOperationsMax: 100_000,
  /** SQL statements of the application in one transaction; their values count towards its bytes. */
  sqlStatementsMax: 1_000,
  /** Length and parameters of one statement. SQLite itself accepts 32,766 parameters. */
  sqlCharactersMax: 64 * 1024,
  sqlParametersMax: 1_000,
  /** Results of all statements of one transaction: they are in memory twice on their way to the caller. */
  sqlRowsMax: 10_000,
  sqlResultBytesMax: 4 * 1024 * 1024,
  /**
   * Running time of a transaction's statements: they block the writer, and so every commit of the instance. Checked after
   * each row and each statement; one that does not come to such a point is killed with its process a little later.
   */
  sqlExecutionMsMax: 1_000,
  sqlKillGraceMs: 100,
  /** Kills for one group, after which no more of its statements run. Without a kill they stop after `sqlExecutionMsMax`. */
  sqlKillsPerGroupMax: 2,
  /** Memory of the process that runs statements: one that exceeds it is killed, before the system chooses another victim. */
  sqlMemoryBytesMax: 512 * 1024 * 1024,
  /** How often running time and memory of statements are checked. */
  sqlCheckMs: 20,
  /** Ends of the writer's process in a row, none of them a statement's fault, after which the instance stops. */
  writerProcessEndsMax: 5,
  /**
   * How long a session can keep the writer reserved, from its first query to its commit. Every other commit of the
   * instance waits meanwhile.
   */
  writerReservationMsDefault: 1_000,
  writerReservationMsMax: 10_000,
  /** Transactions with statements in one group. Once they have taken `sqlExecutionMsMax` together, the others do not run. */
  sqlTransactionsPerGroupMax: 32,
  /** Compiled statements of the application that are kept. */
  sqlStatementsCachedMax: 256,
  /** Tables, indexes and views of the application: SQLite reads all of the schema when a file is opened. */
  sqlObjectsMax: 1_000,
  /** A group is closed at this size, so that it neither delays the next group long nor grows the write-ahead log much. */
  groupBytesMax: 4 * 1024 * 1024,
  /** Groups sent to the writer and not yet acknowledged: one is synced while the next is written. */
  groupsInFlightMax: 2,
  /** Operations of the transactions whose callers resume in one turn of the event loop: 1 to 2 ms of work. */
  resumedOperationsPerTurnMax: 320,
  /** Events of traced messages that are kept: 76 bytes each, 2.5 MB, or some seconds of them at full speed. */
  messageEventsMax: 32_768,
  /**
   * One message in this many is traced. One in 512 takes about 1 % of the CPU of the cheapest queue, one in 128 takes 3.4 %; a
   * smaller number than 64 would trace more than 2 % of the messages.
   */
  traceEveryDefault: 512,
  traceEveryMin: 64,
  traceEveryMax: 2 ** 20,
  /** Messages that are traced because a user asked, per log and in total: each run of messages is compared with all of them. */
  tracesRequestedMax: 1_024,
  /** How many of a queue's next messages a user can have traced. */
  tracesPendingMax: 100,
  /** Milliseconds between two samples of who holds what others wait for. A sample compares the states of all sessions. */
  holderSampleMs: 10,
  /** Samples kept of an event. Past this every second one is dropped, and the time between samples doubles. */
  holderSamplesMax: 256,
  /** Waiting sessions that a sample names. The others are counted. */
  sampledWaitersMax: 128,
  /** A page of traced messages. */
  tracedMessagesMax: 100,
  /** Size of a run of messages in one row of a partition: large enough to save rows, small enough to read at once. */
  blockBytesMax: 128 * 1024,
  blockMessagesMax: 1_024,
  /** A partition is sealed when it reaches either. Truncating one costs 1 to 2 ms, once for all of its messages. */
  partitionMessagesMax: 32_768,
  partitionBytesMax: 24 * 1024 * 1024,
  /** Free partition tables kept in reserve, so that no commit waits while one is created. */
  partitionsFreeMin: 3,
  partitionsMax: 100_000,
  /** An old partition with at most this many live messages is evacuated: they are copied out and it is truncated. */
  evacuatedPerPartitionMax: 64,
  evacuatedPerPartitionBytesMax: 4 * 1024 * 1024,
  /** Evacuated messages of one subscriber in one shard, which are in memory. Beyond it nothing is evacuated. */
  evacuatedPerCursorMax: 4_096,
  /** One bulk read of a backlog; the next one starts when less than half of it is left. */
  backlogReadBytes: 2 * 1024 * 1024,
  /**
   * Bytes of a write-ahead log at which commits are refused: a reader that has a transaction open keeps the log from being
   * reused. Normally it stays at 33 MB. A gigabyte is 10 to 20 s of writing at full speed, for a backup that reads.
   */
  logBytesMaxDefault: 1024 ** 3,
  /** Twice the length at which a checkpoint starts. */
  logBytesMaxMin: 64 * 1024 ** 2,
  logBytesMaxMax: 64 * 1024 ** 3,
  /** The least time of a sync on an emulated slow disk. */
  emulatedSyncMsMax: 1_000,
  /** Latency added to each request between instances. */
  emulatedInterconnectMsMax: 1_000,
  /** Sync times that an instance takes in turn to emulate a distribution. Twenty quantiles are enough for most. */
  emulatedSyncTimesMax: 1_000,
  cacheBytesDefault: 256 * 1024 * 1024,
  /** Cache sizes that a conversion can set for every instance: 1 MiB holds a few large messages, 64 GiB is a whole machine. */
  cacheBytesMin: 1024 * 1024,
  cacheBytesMax: 64 * 1024 ** 3,
  /** How long a conversion waits for consumers to empty the queue. */
  drainMsDefault: 10 * 60_000,
  drainMsMax: 24 * 60 * 60_000,
  /** How often a conversion checks how many messages are left; a check costs about 20 µs. */
  drainPollMs: 20,
  /** 400 days. */
  delayMsMax: 400 * 24 * 60 * 60_000,
  /** Deliveries of a message before it moves to the exception queue: the default is that of Oracle's max_retries. */
  attemptsDefault: 5,
  attemptsMax: 1_000,
  /** Pause before a returned message is delivered again; it doubles up to this. */
  retryDelayMsMax: 60 * 60_000,
  /** The same for a message whose consumer failed, on a queue without a pause of its own: the first one, and the longest. */
  backOffMs: 100,
  backOffMsMax: 10_000,
  /** What is kept of the error of a consumer. A stack of Node's default ten frames has 1 to 2 KiB. */
  errorNameBytesMax: 128,
  errorMessageBytesMax: 1_024,
  errorStackBytesMax: 4_096,
  /** Failed attempts of a message whose times are kept: the first one and the latest. */
  attemptTimesMax: 20,
  /** Messages of unsharded queues whose failures a process keeps until they are consumed; of older ones the next failure is the first. */
  failedMessagesMax: 1_000,
  /** How long consumed messages can be kept: two weeks. */
  retentionMsMax: 14 * 24 * 60 * 60_000,
  /** Undelivered messages of a buffered queue past which it refuses more: Oracle's default, and the most that fits in memory. */
  undeliveredDefault: 5_000,
  undeliveredMax: 10_000_000,
  /** After such a refusal: bounds of the hint when to enqueue again, and the hint if nothing was consumed recently. */
  enqueueRetryMsMin: 1,
  enqueueRetryMsMax: 10_000,
  enqueueRetryMsUnknown: 1_000,
  dequeueMessagesMax: 10_000,
  /** Messages that are pushed to a consumer ahead of its calls: JMS's MessagesMaximum. */
  pipelineMessagesDefault: 10,
  pipelineMessagesMax: 10_000,
  /** Messages pushed in one step, so that a pipeline overshoots `pipelineBytesMax` by no more. */
  pipelineStepMessagesMax: 256,
  /** Payload bytes in one pipeline past which nothing is pushed: they are in the consumer's memory. */
  pipelineBytesMax: 16 * 1024 * 1024,
  /** A fair pipeline holds what its consumer takes in this time. */
  pipelineTargetMs: 100,
  /** Messages that a session prefetches at most, unless its transactions are larger: more would save few requests. */
  prefetchWindowMax: 64,
  /** Prefetched messages that the session has not taken for this long return to their queue. */
  prefetchIdleMs: 1_000,
  /** Open consumers of one session. */
  consumersPerSessionMax: 64,
  /** Open producers of one session: each has a buffer of 8 KiB at the client, and until its sends are answered an entry at the instance. */
  producersPerSessionMax: 1_024,
  /** One-way sends without an answer. */
  sendWindowMessagesMax: 10_000,
  waitMsMax: 24 * 60 * 60_000,
  holdMsMin: 10,
  holdMsMax: 7 * 24 * 60 * 60_000,
  holdMsDefault: 30_000,
  /** Held messages (delivered and not yet consumed) over all sessions of an instance; each is an object in memory. */
  holdsMax: 1_000_000,
  sessionsMax: 10_000,
  /** Remote sessions whose last outcome is kept: open ones, and those that lost their connection. */
  outcomesMax: 50_000,
  /** How long an outcome is kept after the connection was lost; clients ask within a minute. */
  outcomeRetentionMs: 10 * 60_000,
  /** An idempotency key, printable ASCII: a UUID has 36. It is stored with its transaction. */
  idempotencyKeyCharactersMax: 200,
  /** Keys that an instance knows, about 170 bytes each in its file. The oldest are dropped first. */
  idempotencyKeysMax: 1_000_000,
  /** How long a key is known. No program retries unattended for longer than a day. */
  idempotencyRetentionMs: 24 * 60 * 60_000,
  /** Branches of distributed transactions on an instance. Prepared ones are in memory, with all messages that they enqueue. */
  branchesMax: 1_000,
  /** Bytes of the messages that all prepared branches of an instance enqueue: they are in memory until the branches end. */
  preparedBytesMax: 256 * 1024 * 1024,
  /** Rows of the application that one prepared branch may change, and their bytes in its row. Its commit writes all at once. */
  xaRowsMax: 10_000,
  xaRowBytesMax: 16 * 1024 * 1024,
  /** Keys of rows that all prepared branches of an instance have locked, about 200 bytes each in the writer's memory. */
  lockedKeysMax: 100_000,
  /** How long a transaction waits for rows that a branch in doubt has locked: a prepare must answer within `xaCallMsMax`. */
  sqlLockMsDefault: 8_000,
  sqlLockMsMax: 60_000,
  /** How long a branch waits for a row if the wait may be a deadlock: a cycle of transactions that wait for each other. */
  xaDeadlockMs: 1_000,
  /** How long a branch may take until it is prepared: it holds messages meanwhile. */
  xaTimeoutMsDefault: 60_000,
  xaTimeoutMsMax: 24 * 60 * 60_000,
  /** How long a coordinator waits for one answer of a participant: longer than any healthy disk syncs. */
  xaCallMsMax: 10_000,
  /** How long a call of a tightly coupled branch waits for the lock of its transaction: a call that writes takes one sync. */
  xaLockWaitMsDefault: 5_000,
  xaLockWaitMsMax: 60_000,
  /** How long the home instance of a transaction may take to answer, besides waiting for the lock. */
  homeAnswerMs: 2_000,
  /** Messages that one branch ships to its home instance, in base64: they travel in one frame. More stay where they are. */
  shippedBranchBytesMax: 1024 * 1024,
  /** The same of all branches at one home instance, until they prepare: it is in memory. */
  shippedBytesMax: 64 * 1024 * 1024,
  /** Pause before a coordinator asks again the participants that did not answer. */
  xaResolveMs: 1_000,
  waitersMax: 10_000,
  /** Connections to one served instance; each can have thousands of sessions. */
  connectionsMax: 1_024,
  /** A frame of the remote protocol: a transaction of the largest size, and its receipts. */
  frameBytesMax: 40 * 1024 * 1024,
  /** Arguments of an administrative call, as JSON: much more than any takes, and well within a frame. */
  adminCallBytesMax: 1024 * 1024,
  /** Delivered messages are sent in frames of about this size, so that other answers get through in between. */
  deliveryFrameBytes: 1024 * 1024,
  /** Unsent bytes for a peer that does not read; beyond it nothing is read from the peer or sent to it. */
  outboxBytesMax: 8 * 1024 * 1024,
  /**
   * Unanswered requests of one connection. Past it calls that would wait for messages are refused, and nothing is read until one of
   * the others is answered.
   */
  requestsPerConnectionMax: 20_000,
  /** A page of browsed messages over the wire, as JSON: well under a frame. */
  browseBytesMax: 36 * 1024 * 1024,
  /**
   * A browsed message over the wire: the largest payload as base64 has 1.33 MiB, as many recipients as a topic can have with the
   * longest names 0.75 MiB, and all else under 0.1 MiB.
   */
  browsedMessageBytesMax: 2.25 * 1024 * 1024,
  /** How long a client tries to reach its instance; well under `outcomeRetentionMs`. */
  connectMsDefault: 10_000,
  connectMsMax: 60_000,
  queuesMax: 1_000,
  /** Subscribers of one topic; as many as the sharded queues of the white paper allow. */
  subscribersMax: 1_024,
  /** Names of subscribers, Unicode characters. */
  subscriberNameCharactersMax: 128,
  /** How long subscribing waits for the other instances, which poll the catalog every 100 ms. */
  subscribeMsMax: 5_000,
  shardsMax: 16,
  instancesMax: 64,
  browseMessagesMax: 1_000,
  /** Messages that one browse reads to find those in one state. */
  browseReadMax: 10_000,
  /** The most that a receive can be bounded to: as all messages of a call, which are in memory. */
  receiveBytesMax: 1024 * 1024 * 1024,
  /** Rows of an unsharded queue that a browse by correlation id reads, a few ms, before it yields to other calls. */
  searchRowsPerTurn: 256,
  /** Rows for the subscribers of unsharded topics that a transaction adds: one to two seconds of the write lock. */
  recipientRowsMax: 1_000_000,
  /** Messages of a removed subscriber that one write to the unsharded file deletes, some 10 ms. */
  purgedRowsPerWrite: 1_000,
  /** How long opening an instance waits while another process changes the catalog. */
  catalogBusyMsMax: 5_000,
  /**
   * A queue without a dequeue call for this long has no consumer on the instance: its messages can be forwarded to other
   * instances, and messages forwarded to it return to their owners.
   */
  forwardIdleMs: 1_000,
  forwardIdleMsMax: 60_000,
  /** Messages in a forwarded batch: as many as its receiver delivers in about `forwardBatchTargetMs`, within these bounds. */
  forwardBatchMessagesMin: 16,
  forwardBatchMessagesMax: 4_096,
  forwardBatchTargetMs: 100,
  /** Bytes of a forwarded batch, well under the limits of a frame and of a group. */
  forwardBatchBytesMax: 1024 * 1024,
  /** Pause before a peer that refused is asked again; for an unreachable one it doubles each time. */
  forwardRetryMs: 50,
  forwardRetryMsMax: 1_000,
  /** Timeout of one attempt to reach a peer. */
  forwardConnectMs: 250,
  /** How long a closing instance waits for batches in transit. */
  forwardCloseMsMax: 500,
  /**
   * How often a process verifies its claims and gives a sign of life, and for how long either is good: past that it delivers nothing
   * before it has verified its claim, and it counts as slow. A stopped process is replaced in little more than that.
   */
  leaseMs: 1_000,
  leaseRenewMs: 250,
  /**
   * A process whose event loop has made no turn for this long hangs, and is killed: whether it serves, starts or recovers. A process
   * that is only slow must not be. With 20 other busy processes on two cores a loop was seen to stand still for seconds.
   */
  turnlessMsMax: 30_000,
  /** How often a process of a cluster checks the others and looks for recalled instances; a check costs about 10 µs. */
  leaseCheckMs: 50,
  /** An instance whose writer has not answered for this long wants to be replaced. A disk that is only slow must not cause that. */
  writerSilentMsDefault: 30_000,
  writerSilentMsMin: 100,
  writerSilentMsMax: 60_000,
  /** How long a probe commit may take before the instance counts as unable to commit: no healthy disk syncs as slowly. */
  probeMsMax: 2_000,
  /** Time after `probeMsMax` at which a client of the cluster gives up on a process that does not answer. */
  probeAnswerMs: 500,
  /** A probe answers for this long, so that no number of health checks costs more than one sync in that time. */
  probeReuseMs: 1_000,
  /** Free disk space below which an instance is not ready: room for the two groups that can be in flight. */
  diskFreeBytesMin: 2 * 4 * 1024 * 1024,
  /** How often an embedded instance checks that no other process has claimed it. */
  claimCheckMs: 1_000,
  /** How often samples of the metrics in memory are written for the SQL views: about 0.1 % of a busy writer's time. */
  sampleMsDefault: 1_000,
  sampleMsMin: 10,
  sampleMsMax: 60 * 60_000,
  /** Pause between two scrubs of an instance's files, which use at most a twentieth of a core while they run. */
  scrubMsDefault: 60 * 60_000,
  scrubMsMin: 100,
  scrubMsMax: 30 * 24 * 60 * 60_000,
  /** Rows of a sample in one group: 3 ms of writing, so that no commit is delayed much. */
  sampleRowsMax: 1_000,
  /** Pause after taking a sample, as a multiple of the time it took: sampling uses at most 1 % of the session thread. */
  sampleRestFactor: 100,
  /** Rates are counted over one to two windows: short enough to follow a load, long enough for a slow queue. */
  rateWindowMs: 5_000,
  /** Partitions and subscribers that the statistics of a queue list one by one: an answer stays under a megabyte. */
  statsRowsMax: 1_000,
  /** A process waits this long before a takeover for each instance that it hosts already, so that the least busy one is first. */
  takeoverDelayPerHostedInstanceMs: 100,
  /** Pause, which doubles, before an instance that could not be taken over or opened is tried again. */
  takeoverRetryMsMin: 250,
  takeoverRetryMsMax: 10_000,
  /** How long a restarted process waits for its instance, whose failover host finishes its commits first: longer than for one that hangs. */
  failbackMsMax: 40_000,
  /** Sessions on threads that share a queue, and copies of its metadata object: as many as Oracle's `_kgl_hot_object_copies`. */
  threadSessionsMax: 256,
  objectCopiesMax: 254,
  /** Events that each of these sessions keeps, 32 bytes each. */
  traceEventsMax: 4_096,
  /** Tries of a latch or mutex that is held, before its session sleeps: about 10 µs, longer than a section lasts. */
  latchSpins: 255,
  /** Longest get of a latch or mutex. Sections take microseconds, so by then the holder's thread has ended or hangs. */
  latchGetMsMax: 10_000,
  /** How often a session that waits wakes by itself: in `listen`, where it looks for a post, and in a dequeue by name. */
  listenPollMs: 1_000,
  dequeuePollMs: 3_000,
  /** How long closing a shared queue waits for sessions that take or commit a message. */
  sharedCloseMsMax: 5_000,
  /** Services of a cluster, and characters of a name: they are in paths of URLs and in keys of tables. */
  servicesMax: 64,
  serviceNameCharactersMax: 100,
  /** JSON of what a service keeps: it is written whole with each change. */
  serviceStateBytesMax: 256 * 1024,
  /** Activations of a service whose times are kept. */
  serviceTenuresKept: 100,
  /** Longest activation; past it the service counts as failed. */
  serviceActivateMsMax: 10_000,
  /** How long a service may take to stop before its instance closes without it; less than `processCloseMsMax`. */
  serviceDeactivateMsMax: 3_000,
  /** Pause before a service that failed is activated again; it doubles up to the second. */
  serviceRetryMsMin: 100,
  serviceRetryMsMax: 5_000,
  /** Calls that wait for the ones before them, of one service. */
  serviceCallsWaitingMax: 1_000,
  /** How long a caller waits for its answer. */
  serviceCallMsMax: 30_000,
  /** JSON of an argument or a result. */
  serviceCallBytesMax: 256 * 1024,
  /** How long a client of a cluster looks for a service that is moving: a failover after a hang takes 1.4 s. */
  serviceLookupMsMax: 10_000,
  serviceLookupPauseMs: 50,
  /** How late a missed tick of a timer is still enqueued. A week of seconds is 605,000 messages. */
  timerCatchUpMsDefault: 24 * 3_600_000,
  timerCatchUpMsMax: 7 * 24 * 3_600_000,
  /** Ticks of one commit while it catches up. */
  timerTicksPerCommitMax: 100,
  /** Longest sleep of a timer, so that it notices a wall clock that was set. */
  timerSleepMsMax: 1_000,
  /** How often a folder is read. */
  folderPollMsDefault: 1_000,
  folderPollMsMin: 10,
  folderPollMsMax: 3_600_000,
  /** A file that was changed less long ago may still be being written. */
  folderSettleMsDefault: 1_000,
  folderSettleMsMax: 3_600_000,
  /** How long a process can take to finish its commits and close its files before it is killed. */
  processCloseMsMax: 30_000,
  processStatsMsMax: 1_000,
  /** How often the supervisor checks its processes, and whether the folder is still its own. */
  supervisorCheckMs: 250,
  /** A process that failed is killed by its supervisor after this long: a survivor of the cluster is faster. */
  processHungMsMax: 500,
  /** A process that served for this long was healthy, so the next one is started at once. */
  restartHealthyMs: 2_000,
  /** Pause before a process is started again; it doubles up to a bound, which is lower for one that served for a moment. */
  restartPauseMsMin: 100,
  restartFailedPauseMsMax: 5_000,
  restartShortRunPauseMsMax: 1_000,
  /** Processes in a row that could not open their instance, or served for a moment only, before the supervisor gives up. */
  restartFailedStartsMax: 8,
  restartShortRunsMax: 32,
  /** How long a client of a cluster tries to reach one instance: a failover takes less. */
  clusterConnectMs: 3_000,
  /** How often a call that waits for messages at one instance checks the others. */
  clusterPollMs: 250,
  /** Events of a cluster that are kept. */
  clusterEventsKeptMax: 200,
  /** How long to wait until a killed process is gone: milliseconds, unless it is blocked in a call on a disk that hangs. */
  processEndMsMax: 5_000,
} as const;
