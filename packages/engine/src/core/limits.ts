/** Every bound of the engine, in one place, each with its unit and reason. */
export const limits = {
  /** Above this, a payload must travel in chunks; one row and one cache entry stay readable at once below it. */
  payloadBytesMax: 1024 * 1024,
  /** Of a payload that is streamed: it never lies in memory as a whole, and its chunks are rows of their own. */
  streamedBytesMax: 1024 * 1024 * 1024,
  /** A row of a streamed payload: writing one delays the commits beside it by well under a millisecond of copying. */
  chunkBytes: 256 * 1024,
  /** Chunks on their way to the writer at a time, over all uploads: a group of commits carries few of them. */
  chunksInFlightMax: 2,
  /** Chunks that one invisible transaction deletes; freeing them touches each of their pages. */
  chunksDeletedMax: 16,
  /** Parts of a payload, a chunk each, that a client may send ahead of the answers: one is taken in while the next comes. */
  uploadPartsMax: 2,
  /** Payloads being streamed in at a time: each has two chunks in memory, and two parts more if it comes over a socket. */
  uploadsMax: 64,
  /** Messages whose payload lies in chunks: each is an entry in memory. */
  streamedPayloadsMax: 100_000,
  /** Correlation id and group key, UTF-8 bytes: they travel with each message and lie in memory while it is cached. */
  keyBytesMax: 512,
  /** Properties of a message as JSON, bytes. */
  propertiesBytesMax: 64 * 1024,
  /** A transaction lies in memory until it commits. */
  transactionBytesMax: 32 * 1024 * 1024,
  transactionOperationsMax: 100_000,
  /** Statements of the application in one transaction; their values count to its bytes. */
  sqlStatementsMax: 1_000,
  /** Of one statement. SQLite itself takes 32,766 parameters. */
  sqlCharactersMax: 64 * 1024,
  sqlParametersMax: 1_000,
  /** What the statements of one transaction may answer in all: it lies in memory twice on its way to the caller. */
  sqlRowsMax: 10_000,
  sqlResultBytesMax: 4 * 1024 * 1024,
  /**
   * They hold the writer, and with it every commit of the instance. Looked at after each row and each statement, since
   * nothing can stop SQLite within one.
   */
  sqlMsMax: 1_000,
  /**
   * For how long a session may hold the writer, from its first query to its commit, while every other commit of the instance
   * waits: by default, and at most.
   */
  sqlHoldMsDefault: 1_000,
  sqlHoldMsMax: 10_000,
  /** Transactions with statements in one group: a group full of slow ones must not hold the writer for ever. */
  sqlTransactionsPerGroupMax: 32,
  /** Compiled statements of the application that are kept. */
  sqlStatementsKept: 256,
  /** Tables, indexes and views of the application: SQLite reads all of the schema when a file is opened. */
  sqlObjectsMax: 1_000,
  /** A group closes past this, so that one commit neither stalls its followers nor swells the write-ahead log. */
  groupBytesMax: 4 * 1024 * 1024,
  /** Groups handed to the writer and not yet acknowledged: one syncs while the next is being applied. */
  groupsInFlightMax: 2,
  /** Blocks and deltas that a group can name in shared memory; one with more is posted as a message, which costs little beside its writing. */
  groupEntriesMax: 512,
  /** How long the writer looks for the next group before it sleeps: about what waking it costs. */
  writerSpinMs: 0.05,
  /** How long the session thread looks for an answer of the writer before it sleeps: a small commit on a quick disk. */
  answerLookMs: 0.5,
  /** Messages that those have moved who go on in one turn of the event loop: what they do next takes 1 to 2 ms. */
  wakeOperationsMax: 320,
  /** A row of a partition holds a run of messages up to this size: large enough to spare rows, small enough to read one. */
  blockBytesMax: 128 * 1024,
  blockMessagesMax: 1_024,
  /** A partition is sealed past either: truncating it costs 1 to 2 ms, paid once in so many messages. */
  partitionMessagesMax: 32_768,
  partitionBytesMax: 24 * 1024 * 1024,
  /** Tables kept ready beyond those in use, so that no commit waits for one to be made. */
  partitionsFreeMin: 3,
  partitionsMax: 100_000,
  /** An old partition that is kept for no more messages than this gives them up, within so many bytes in all. */
  stragglersPerPartitionMax: 64,
  stragglerBytesMax: 4 * 1024 * 1024,
  /** Of one subscriber in one shard: they lie in memory. Past it partitions wait for their last message. */
  stragglersMax: 4_096,
  /** What one bulk read of a backlog brings back; the next one starts when less than half of it is left. */
  backlogReadBytes: 2 * 1024 * 1024,
  /** An emulated slow disk: slower ones than this teach nothing more. */
  emulatedSyncMsMax: 1_000,
  cacheBytesDefault: 256 * 1024 * 1024,
  /** What a conversion may set it to, for every instance of the cluster: 1 MiB holds a few large messages, 64 GiB is a whole machine. */
  cacheBytesMin: 1024 * 1024,
  cacheBytesMax: 64 * 1024 ** 3,
  /** How long a conversion waits for consumers to empty the queue; a day is a backlog that wants more of them. */
  drainMsDefault: 10 * 60_000,
  drainMsMax: 24 * 60 * 60_000,
  /** How often it looks how much is left; a look costs some 20 µs. */
  drainLookMs: 20,
  /** 400 days: who delays for longer wants a calendar. */
  delayMsMax: 400 * 24 * 60 * 60_000,
  /** Hand-outs of a message before it goes to the exception queue. */
  attemptsMax: 1_000,
  /** Pause before a message that came back is handed out again; it doubles from its start up to this. */
  retryDelayMsMax: 60 * 60_000,
  dequeueMax: 10_000,
  waitMsMax: 24 * 60 * 60_000,
  holdMsMin: 10,
  holdMsMax: 7 * 24 * 60 * 60_000,
  holdMsDefault: 30_000,
  /** Messages handed out and not finished, over all sessions of an instance; each is an object in memory. */
  holdsMax: 1_000_000,
  sessionsMax: 10_000,
  /** Remote sessions whose last transaction is remembered: those that are open, and those that lost their connection. */
  outcomesMax: 50_000,
  /** How long it is remembered after the connection was lost; clients ask within a minute. */
  outcomeKeptMs: 10 * 60_000,
  waitersMax: 10_000,
  /** Processes connected to one served instance; each may carry thousands of sessions. */
  connectionsMax: 1_024,
  /** A frame of the remote protocol: a transaction of the largest size, and its receipts. */
  frameBytesMax: 40 * 1024 * 1024,
  /** A hand-out goes over the wire in frames of about this size, so that others get their turn in between. */
  handOutFrameBytes: 1024 * 1024,
  /** Bytes on their way to a peer that does not read them; past it, nothing more is taken from it or sent to it. */
  outboxBytesMax: 8 * 1024 * 1024,
  /** Requests of one connection that are not answered yet: above what its sessions can have, a guard only. */
  requestsMax: 20_000,
  /** A page of browsed messages over the wire, payload bytes. */
  browseBytesMax: 24 * 1024 * 1024,
  /** How long a client looks for its instance by default, and at most: well within `outcomeKeptMs`. */
  connectMsDefault: 10_000,
  connectMsMax: 60_000,
  queuesMax: 1_000,
  /** Of one topic; as many as the sharded queues of the white paper allow. */
  subscribersMax: 1_024,
  /** Names of subscribers, characters. */
  subscriberNameMax: 128,
  /** How long subscribing waits for the other instances, milliseconds: they look every 100. */
  subscribeMsMax: 5_000,
  shardsMax: 16,
  instancesMax: 64,
  browseMax: 1_000,
  /** Rows of an unsharded queue that a browse for a correlation id looks through before other calls have their turn: some ms. */
  searchRows: 256,
  /** A change of the catalog by another process is waited for this long where an instance is opened; longer is a hang. */
  catalogBusyMs: 5_000,
  /**
   * Without a call to dequeue for this long a queue has no consumer on an instance: then its messages go to others that
   * wait, and what came from others goes home.
   */
  forwardIdleMs: 1_000,
  forwardIdleMsMax: 60_000,
  /** Messages of a batch between instances: what its receiver hands out in about `forwardBatchAimMs`, within these. */
  forwardBatchMessagesMin: 16,
  forwardBatchMessagesMax: 4_096,
  forwardBatchAimMs: 100,
  /** And its bytes, to which some messages may come: a frame and a group hold them with room to spare. */
  forwardBatchBytesMax: 1024 * 1024,
  /** A peer that refuses is asked again after this; one that cannot be reached, after twice as long each time. */
  forwardRetryMs: 50,
  forwardRetryMsMax: 1_000,
  /** How long one attempt to reach a peer may take. */
  forwardConnectMs: 250,
  /** How long an instance that ends in order waits for batches that are under way. */
  forwardPartingMs: 500,
  /**
   * How long a lease lasts and how often it is renewed: a process may stand still for three renewals before others take
   * its instances, and a process that is stopped is replaced in little more than a second.
   */
  leaseMs: 1_000,
  leaseRenewMs: 250,
  /** How often a process of a cluster looks for lapsed leases and recalled guests; a look costs some 10 µs. */
  leaseLookMs: 50,
  /** After a look that came late nobody is judged for this long: whatever held it up may have held up the others too. */
  leaseGraceMs: 500,
  /** Without an answer of its writer thread for this long an instance does not renew: beyond any healthy disk's sync. */
  writerSilentMsDefault: 5_000,
  writerSilentMsMin: 100,
  writerSilentMsMax: 60_000,
  /** How often figures of memory are written for the views: often enough to look at, and a thousandth of a busy writer's time. */
  sampleMsDefault: 1_000,
  sampleMsMin: 10,
  sampleMsMax: 60 * 60_000,
  /** Rows of a sample that ride in one group, so that it holds up nobody's commit: 3 ms of writing. */
  sampleRowsMax: 1_000,
  /** After a sweep an instance rests for so many times as long as it took: 1 % of its session thread at most. */
  sampleRestFactor: 100,
  /** Rates are counted over one to two of these: short enough to follow a load, long enough for a slow queue. */
  rateWindowMs: 5_000,
  /** Partitions and subscribers of shards that the figures of a queue name one by one: an answer stays under a megabyte. */
  statsRowsMax: 1_000,
  /** Of several processes that could take an instance over, each waits this long for every guest it has. */
  guestDelayMs: 100,
  /** An instance that could not be taken over or opened is tried again after a pause that doubles. */
  takeoverRetryMsMin: 250,
  takeoverRetryMsMax: 10_000,
  /** A returning process waits so long until its instance is given back: the host finishes its commits first. */
  recallMsMax: 20_000,
  /** A process that is asked to end finishes its commits and closes its files; longer is a hang, and it is killed. */
  processCloseMsMax: 10_000,
  processStatsMsMax: 1_000,
  /** A client of a whole cluster looks so long for an instance: a failover takes less, and there are others to ask. */
  clusterConnectMs: 3_000,
  /** A call that waits for messages at one instance looks at the others this often. */
  clusterLookMs: 250,
  /** Events of a cluster that are kept to be looked at. */
  clusterEventsKept: 200,
  /** A killed process is gone within milliseconds, unless the system holds it in a call on a disk that hangs. */
  processEndMsMax: 5_000,
} as const;
