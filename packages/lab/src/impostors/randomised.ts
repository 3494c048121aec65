/**
 * Families of systems that no judge was written against: each seed draws the curves of a pair, its CPU, its waits and its
 * response times, independently of each other.
 */
import { threadsByInstance } from '@shardlab/contract';
import { Random } from '@shardlab/model';
import { type AnalyticSystem, pacedByClients } from './analytic-system.ts';
import { noisy } from './books.ts';
import { disruptionOf } from './disruption.ts';
import { type Impostor, pairOf } from './impostors.ts';

export function randomisedPair(seed: number): Impostor {
  const chance = new Random(seed);
  return {
    name: `seed ${seed}`,
    about: 'curves, CPU, waits and response times drawn at random',
    systems: pairOf(randomisedSystem(chance), randomisedSystem(chance)),
  };
}

function randomisedSystem(chance: Random): AnalyticSystem {
  const even = (low: number, high: number) => low + (high - low) * chance.next();
  const scaled = (low: number, high: number) => low * (high / low) ** chance.next();
  /** A power law, or none at all: half of the systems do not depend on the parameter. */
  const exponent = (low: number, high: number) => (chance.next() < 0.5 ? 0 : even(low, high));
  const noise = scaled(0.01, 0.15);

  const rates = {
    one: scaled(300, 30_000),
    /** Threads at which the rate is half of what they would bring without loss. */
    knee: scaled(1, 128),
    steepness: even(0.3, 1.5),
    instances: exponent(-1, 0.5),
    batch: exponent(-0.2, 0.7),
    payload: exponent(-1, 0.1),
    backlog: exponent(-0.3, 0.1),
    cache: exponent(-0.1, 0.3),
    subscribers: even(0, 1),
    unsynced: scaled(0.5, 4),
    rowsApart: scaled(0.3, 1.5),
    forwarded: scaled(0.3, 1.5),
    keptUp: chance.next() < 0.5 ? 1 : even(0.5, 1),
  };
  const cpu = {
    base: scaled(1, 300),
    threads: exponent(-0.5, 0.3),
    instances: exponent(-0.3, 0.5),
    subscribers: exponent(-1, 0.2),
    cache: exponent(-0.3, 0.1),
  };
  const call = {
    base: scaled(0.01, 5),
    threads: exponent(-0.2, 1),
    instances: exponent(-0.2, 1),
    tail: scaled(1, 30),
  };
  const shares = Array.from({ length: 4 }, () => chance.next() / 2);
  const lockAmongInstances = exponent(0, 1);
  const synced = even(0, 1.2);
  /** From the same rate for each instance, over the same for each session (0), to one that favours the larger instance. */
  const favoured = even(-1, 0.5);
  const disruption = { outageMs: scaled(10, 10_000), after: even(0, 2) };

  return (params, drawn) => {
    const { instances, threads, subscribers = 1, operationsPerTransaction, cacheMiB = 64 } = params;
    const rate =
      rates.one *
      (threads / (1 + (threads / rates.knee) ** rates.steepness)) *
      instances ** rates.instances *
      (operationsPerTransaction / 10) ** rates.batch *
      (params.payloadBytes / 512) ** rates.payload *
      ((params.backlog ?? 0) / 1000 + 1) ** rates.backlog *
      cacheMiB ** rates.cache *
      subscribers ** rates.subscribers *
      (params.durability === 'durable' ? 1 : rates.unsynced) *
      (params.rows === 'separate' ? rates.rowsApart : 1) *
      (params.dequeuers === 'other-instance' ? rates.forwarded : 1);
    const dequeuePerSec = noisy(Math.min(rate, pacedByClients(params)), drawn, noise);
    const cpuUsPerMessage =
      cpu.base *
      threads ** cpu.threads *
      instances ** cpu.instances *
      subscribers ** cpu.subscribers *
      cacheMiB ** cpu.cache;
    const callMs = noisy(call.base * threads ** call.threads * instances ** call.instances, drawn, noise);
    const weights = threadsByInstance(params).map((count) => count ** (1 + favoured));
    const weight = weights.reduce((sum, each) => sum + each, 0);
    const [sync, lock, partitions, idle] = shares as [number, number, number, number];
    return {
      dequeuePerSec,
      enqueuePerSec: dequeuePerSec / subscribers / rates.keptUp,
      cpuUsPerMessage: noisy(cpuUsPerMessage, drawn, noise),
      callMs,
      callP99Ms: callMs * call.tail,
      latencyMs: callMs * 2,
      waitShares: {
        'log file sync': sync,
        'write lock': lock * instances ** lockAmongInstances,
        'partition maintenance': partitions * (operationsPerTransaction > 10 ? 2 : 1),
        'waiting for messages': idle,
      },
      syncsPerCommit: synced,
      instanceShares: weights.map((each) => each / weight),
      disruption: disruptionOf(dequeuePerSec, disruption),
    };
  };
}
