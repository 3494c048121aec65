/** The trials of a bench. */
import {
  generator,
  plainjobs,
  type System,
  sharded,
  shardedRemote,
  systemName,
  unsharded,
} from '../drivers/systems.ts';
import type { Scale } from './scale.ts';

export type Shape = 'enqueue, then dequeue' | 'both at once' | 'open loop' | 'standing backlog';

export interface Trial {
  /** Unique in a bench. */
  key: string;
  shape: Shape;
  system: System;
  /** Instances of our engine, each in its own process; 1 for all other systems. */
  instances: number;
  operations: number;
  /** Sessions over all instances. */
  enqueuers: number;
  dequeuers: number;
  /** Messages per second of an open loop; `half` of our engine's rate in a closed loop on one instance. */
  messagesPerSec?: number | 'half';
  emulatedSyncMs?: number;
  /** Number of subscribers of a topic. */
  subscribers?: number;
  /** Messages that stay in the queue while others are enqueued and dequeued. */
  standing?: number;
}

/** Enqueuers by transaction size: few sessions for large transactions, many for small ones that wait for a sync. Equal for all systems. */
export const sessionsFor = (operations: number) => (operations >= 1_000 ? 4 : operations >= 10 ? 16 : 32);
const bothSides = (sessions: number) => ({ enqueuers: sessions, dequeuers: sessions });

export const pacedPerSec = 500;
export const pacedEnqueuers = 8;
export const emulatedSyncMs = 20;
const topicSubscribers = 10;
/** Each session awaits its commit, so at thousands of transactions per second such a disk needs hundreds of sessions. */
const slowDiskSessions = 512;

/** The best number of consumers for a peer in a shape, as probed. */
export type ConsumersOf = (system: System, shape: Shape, operations: number) => number;

export const consumersUnprobed = (shape: Shape, operations: number) =>
  shape === 'open loop' ? pacedEnqueuers : sessionsFor(operations);

/** Names of trials that ratios and targets refer to. */
export const names = {
  queue10: 'sharded × 2, both at once, 10',
  queue10Single: 'sharded, both at once, 10',
  queue1000: 'sharded × 2, both at once, 1000',
  queue1x32: 'sharded, both at once, 1',
  topic10: 'topic × 2, 10 subscribers, both at once, 10',
  single1: 'sharded, one session, 1',
  half: 'sharded, open loop at half load',
  halfSlowDisk: `sharded, open loop at half load, emulated sync of ${emulatedSyncMs} ms`,
  standing: (messages: number) => `sharded, standing backlog of ${messages}`,
} as const;

export function trialsOf(scale: Scale, peers: readonly System[], consumersOf: ConsumersOf): Trial[] {
  const own: ConsumersOf = (_, shape, operations) => consumersUnprobed(shape, operations);
  return [
    ...scale.instances.flatMap((instances) => [
      ...systemTrials(scale, sharded, own, instances),
      ...systemTrials(scale, shardedRemote, consumersOf, instances),
    ]),
    ...systemTrials(scale, unsharded, own),
    ...specialTrials(scale),
    ...peers.flatMap((system) => systemTrials(scale, system, consumersOf)),
  ];
}

/** The trials that every system runs. */
function systemTrials(scale: Scale, system: System, consumersOf: ConsumersOf, instances = 1): Trial[] {
  const title = titleOf(system, instances);
  const trial = (shape: Shape, operations: number, suffix: string): Trial => {
    // Twice the sessions on two instances, except where a few large transactions already saturate the disk.
    const times = operations >= 1_000 ? 1 : instances;
    const enqueuers = consumersUnprobed(shape, operations);
    const dequeuers = consumersOf(system, shape, operations);
    return {
      key: `${title}, ${shape}${suffix}`,
      shape,
      system,
      instances,
      operations,
      enqueuers: enqueuers * times,
      dequeuers: dequeuers * times,
    };
  };
  const bySize = scale.operations.flatMap((operations) =>
    (['enqueue, then dequeue', 'both at once'] as const).map((shape) =>
      trial(shape, operations, `, ${operations}`),
    ),
  );
  return [...bySize, { ...trial('open loop', 1, ` at ${pacedPerSec}/s`), messagesPerSec: pacedPerSec }];
}

/** The trials for targets of our own engine, and the one for the bench's own cost. */
function specialTrials(scale: Scale): Trial[] {
  const one = { system: sharded, instances: 1, operations: 10, ...bothSides(sessionsFor(10)) };
  const half = { ...one, shape: 'open loop', messagesPerSec: 'half' } as const;
  return [
    { ...one, key: names.single1, shape: 'enqueue, then dequeue', operations: 1, ...bothSides(1) },
    {
      ...one,
      key: names.topic10,
      shape: 'both at once',
      instances: 2,
      enqueuers: 2 * sessionsFor(10),
      // As many consumers per subscriber as a queue has: each commits one batch at a time, so a few cannot fill a group.
      dequeuers: 2 * sessionsFor(10) * topicSubscribers,
      subscribers: topicSubscribers,
    },
    { ...half, key: names.half },
    { ...half, key: names.halfSlowDisk, emulatedSyncMs, ...bothSides(slowDiskSessions) },
    ...[scale.standing.small, scale.standing.large].map((standing) => ({
      ...one,
      key: names.standing(standing),
      shape: 'standing backlog' as const,
      standing,
    })),
    { ...one, system: generator, key: 'generator, both at once, 10', shape: 'both at once' },
  ];
}

/** The trials that find the best number of consumers for a peer. */
export function probesOf(scale: Scale, system: System): Trial[] {
  return [1, 8, 32].flatMap((dequeuers) =>
    systemTrials(scale, system, () => dequeuers)
      .filter(({ shape }) => shape !== 'enqueue, then dequeue')
      .map((trial) => ({ ...trial, key: `probe of ${trial.key}, ${dequeuers} consumers` })),
  );
}

export function titleOf(system: System, instances = 1): string {
  const ours = system.driver === 'sharded' || system.driver === 'unsharded';
  const own = system.placement === 'remote' ? `${system.driver} remote` : system.driver;
  const name = ours ? own : systemName(system);
  return instances === 1 ? name : `${name} × ${instances}`;
}

/** Peers without and with servers. */
export function peersOf(scale: Scale, serverPeers: readonly System[]): readonly System[] {
  return scale.servers ? [...plainjobs, ...serverPeers] : plainjobs;
}
