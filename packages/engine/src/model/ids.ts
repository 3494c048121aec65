/**
 * Numbers that identify things. They are plain numbers at run time and in files; the brand, which exists for the compiler
 * only, keeps one kind from being passed where another is meant. An unbranded number fits every kind, so an id gets its
 * kind where a row, a field, a parameter or a result is declared, and needs no conversion. Arithmetic gives an unbranded
 * number: a function that computes an id declares the kind of its result. Only the public types (`api`) have plain numbers.
 * Why the brand is optional: `docs/decisions/kinds-of-ids.md`.
 */
declare const idKind: unique symbol;

type Id<Kind extends string> = number & { readonly [idKind]?: Kind };

/** A queue in the catalog, never reused. */
export type QueueId = Id<'queue'>;

/** A shard of an instance: `log-id.ts` has its parts. */
export type ShardNumber = Id<'shard'>;

/**
 * A log of messages, unique in the cluster: `log-id.ts` has its parts. Called `logId`; rows, frames and the public types have
 * it under the name of its column, `shard`, and the content of a branch as `log`.
 */
export type LogId = Id<'log'>;

/** A sequence number: which message of a log, or of the file of the unsharded queues, whose messages are one sequence. */
export type Seq = Id<'seq'>;

/** A partition table in an instance's file. */
export type PartitionId = Id<'partition'>;

/** A subscriber of a topic; 0 is the only consumer of a queue. */
export type SubscriberId = Id<'subscriber'>;

/** A streamed payload in an instance's file. */
export type PayloadId = Id<'payload'>;

/** An instance of the cluster, from 1. */
export type InstanceId = Id<'instance'>;

/** A process of the operating system. */
export type Pid = Id<'process'>;

/** An opening of an instance's file, from 1. */
export type Epoch = Id<'epoch'>;

/** A process's claim to host an instance, rising over all instances. */
export type ClaimNumber = Id<'claim'>;

/** A group commit of an instance, rising over all its epochs. */
export type GroupNumber = Id<'group'>;

/** A change of the catalog. */
export type CatalogChangeNumber = Id<'catalog change'>;

/** A commit to the file of the unsharded queues. */
export type CommitNumber = Id<'commit'>;

/** A process that has the file of the unsharded queues open. */
export type HolderId = Id<'holder'>;

/** A batch of forwarded messages, rising over all receivers of its sender. */
export type BatchNumber = Id<'batch'>;

/** A connection between two instances, in one opening of the sender's file. */
export type ConnectionNumber = Id<'connection'>;

/** A delivery of one cursor: what makes a receipt of an earlier hold of the message stale. */
export type HoldNumber = Id<'hold'>;

/** A session of an instance, while that is open. */
export type SessionNumber = Id<'session'>;

/** A session of a client, as the client numbers it on its connection. */
export type RemoteSessionNumber = Id<'remote session'>;

/** An opening of a remote session over a connection. */
export type AttachmentNumber = Id<'attachment'>;

/** A transaction of a remote session; for a process that writes to grouped unsharded queues, a batch. */
export type TransactionNumber = Id<'transaction'>;

/** A request on a connection, or to another thread or process. A remote consumer is known by the request that opened it. */
export type RequestNumber = Id<'request'>;

/** An upload of a remote session. */
export type UploadNumber = Id<'upload'>;

/** A producer of a remote session. */
export type ProducerNumber = Id<'producer'>;

/** Proves who has a global transaction lock. */
export type LockToken = Id<'lock token'>;

/** A transaction among those that a coordinator began in one opening of its instance. */
export type GlobalTransactionNumber = Id<'global transaction'>;

/** An activation of a singleton service, from 1. */
export type TenureNumber = Id<'tenure'>;

/** Groups of one writer between two failures. */
export type WriterGeneration = Id<'writer generation'>;

/** A connection among those that a client had, one after the other. */
export type LinkGeneration = Id<'link generation'>;

/** A session on a worker thread, in the shared memory of its queue; 0 is the owner. */
export type ThreadSessionNumber = Id<'thread session'>;

/** A subscriber's place in the shared memory of a queue. */
export type SlotNumber = Id<'slot'>;

/** A copy of the metadata object of a shared queue. */
export type CopyNumber = Id<'copy'>;
