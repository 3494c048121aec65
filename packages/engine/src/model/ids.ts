/**
 * Numbers that identify things. They are plain numbers at run time and in files; the brand, which exists for the compiler
 * only, keeps one kind from being passed where another is meant. An unbranded number fits every kind, so an id gets its
 * kind where a row or a parameter is declared, and needs no conversion. Only the public types (`api`) have plain numbers.
 */
declare const idKind: unique symbol;

type Id<Kind extends string> = number & { readonly [idKind]?: Kind };

/** A queue in the catalog, never reused. */
export type QueueId = Id<'queue'>;

/** A log of messages, unique in the cluster: `log-id.ts` has its parts. */
export type LogId = Id<'log'>;

/** A partition table in an instance's file. */
export type PartitionId = Id<'partition'>;

/** A subscriber of a topic; 0 is the only consumer of a queue. */
export type SubscriberId = Id<'subscriber'>;

/** A streamed payload in an instance's file. */
export type PayloadId = Id<'payload'>;

/** An instance of the cluster, from 1. */
export type InstanceId = Id<'instance'>;

/** A group commit of an instance, rising over all its epochs. */
export type GroupNumber = Id<'group'>;
