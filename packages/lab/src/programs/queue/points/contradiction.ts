/**
 * Whether the measurements of a point agree with each other. They come from different places (the wait log, the clients'
 * counts, the processes' CPU), so a system that only reports a rate, or a broken meter, contradicts itself. A system can forge figures
 * of its own that agree; it cannot forge what the kernel counted of its processes.
 */
import { median } from '@shardlab/model';
import { sharesOneTable } from '../../../systems/queue-systems.ts';
import { percent } from '../../figures-in-words.ts';
import type { QueuePoint } from './queue-point.ts';

/**
 * Commits of durable messages that waited for a sync, as a share of all commits; measured 0.96 to 1.00. At an edge of the window a
 * commit can be counted on one side and its wait on the other, once for each session; with few commits that is a large share (0.65
 * measured with 64 sessions and 330 commits). More than 1 is possible: a transaction may have had fewer messages than planned.
 */
const syncedShareMin = 0.9;
/** Waits take place one after the other in a session, so they cannot exceed its time; measured up to 1.07 of it at window edges. */
const waitingShareMax = 1.15;
/**
 * Waits and CPU cover at least this share of the sessions' time; measured 0.43 to 1.25. In the rest of it sessions wait for their
 * thread. Hundreds of sessions on one thread do so nearly always (352 of a topic: 0.04), which is credible if threads are busy.
 */
const explainedShareMin = 0.3;
/** Threads are busy if their processes use at least this share of the cores that they can use. */
const busyShareMin = 0.5;
/**
 * The time books of the sessions explain all of their time but for so much, and no more than all of it; measured 0.99 to 1.00. A call
 * that a program awaits without naming what it waits for is missing, and one that is counted twice is too much.
 */
const unaccountedShareMax = 0.05;
/**
 * A session on CPU by its book, and its thread not by the kernel's count, waits for a core or for something that the book has not named.
 * Where cores were free, the time on CPU was 0.04 to 1.09 of the CPU of the thread, which also does the engine's work; with two to eight
 * instances that kept 1.75 to 1.95 of two cores busy, 1.2 to 3.4. An await without a wait event made it 1.4 to 2.0 of 0.4 to 0.6 cores.
 */
const sessionCpuOfThreadMax = 1.2;
/** Cores are free if the processes use at most this share of them, and other work did not disturb the trial. */
const freeCoresShareMax = 0.75;
/** CPU per message and the cores that were busy are the same quantity. */
const cpuAgreement = 0.25;
/** The average number of sessions inside a dequeue call (by Little's law) cannot exceed the number of sessions by more than this factor. */
const callingShareMax = 1.15;

/**
 * The time that sessions waited for a log file sync, as a multiple of the time that their writer took for the same commits. A session
 * that writes for itself, or whose writer reports the time of the group, waits exactly that long; measured 1.00 to 1.06. A commit of a
 * sharded queue also waits for up to two groups before its own; measured 1.6 to 3.1. If the transactions of all sessions do not fit in
 * one group, it waits for more groups: measured 4.6 with 16 MiB.
 */
const syncWaitMin = 0.9;
const syncWaitMax = { own: 1.25, grouped: 4 };
/** The engine's limit of a group. */
const groupBytes = 4 * 1024 ** 2;
/** The answer of a writer may wait for a turn of a busy session thread. */
const turnMsMax = 10;

/** Each message is written at least once; the window of the kernel's counts and that of the lab's differ by some milliseconds. */
const writtenShareMin = 0.8;
/** A session has one commit under way, so a sync serves at most one commit of each session, and the thread that syncs blocks. */
const blocksPerSyncMin = 0.5;
/** The kernel counts CPU in steps of 10 ms. */
const kernelCoresNoise = 0.1;

/** With fewer commits in the window, what is counted at its edges decides. */
const commitsMin = 100;

/** A contradiction in words; null if the measurements agree. Points with a fault or a conversion are not examined. */
export function contradictionOf(point: QueuePoint, cores: number | null): string | null {
  const { params, dequeuePerSec, repeats, waits } = point;
  const measuredMs = repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  const isDisrupted = repeats.some(
    ({ faults, conversion }) => faults !== undefined || conversion !== undefined,
  );
  if (isDisrupted || measuredMs === 0 || dequeuePerSec === 0) return null;
  const { threads, subscribers = 1, operationsPerTransaction, durability } = params;

  const book = bookContradiction(point, cores);
  if (book !== null) return book;

  const isDurable = durability !== 'memory' && durability !== 'relaxed';
  // Within each repeat: the waits are of all of them, which the median of rates that differ would not fit.
  const messages = repeats.reduce(
    (sum, repeat) => sum + (repeat.enqueuePerSec + repeat.dequeuePerSec) * (repeat.measuredMs / 1000),
    0,
  );
  const commits = messages / operationsPerTransaction;
  const syncedCommits = waits.find(({ event }) => event === 'log file sync')?.waits ?? 0;
  const atEdges = 2 * threads * (1 + subscribers) * repeats.length;
  if (isDurable && commits >= commitsMin && syncedCommits + atEdges < syncedShareMin * commits)
    return `${percent(syncedCommits / commits)} of its commits waited for a sync`;

  const sessionMs = sessionsOf(params) * measuredMs;
  const waiting = waits.reduce((sum, wait) => sum + wait.totalMs, 0) / sessionMs;
  if (waiting > waitingShareMax) return `its sessions waited ${percent(waiting)} of their time`;
  const busyCores =
    repeats.reduce((sum, repeat) => sum + coresOfMessages(repeat) * repeat.measuredMs, 0) / measuredMs;
  const explained = waiting + (busyCores * measuredMs) / sessionMs;
  const usableCores = Math.min(params.instances, cores ?? 1);
  if (isDurable && explained < explainedShareMin && busyCores < busyShareMin * usableCores)
    return `waits and CPU explain ${percent(explained)} of its sessions' time`;

  if (Math.abs(busyCores - point.coresBusy) > cpuAgreement * Math.max(busyCores, point.coresBusy))
    return `its messages took ${busyCores.toFixed(2)} cores, of which its processes used ${point.coresBusy.toFixed(2)}`;
  if (cores !== null && busyCores > cores * (1 + cpuAgreement))
    return `its messages took ${busyCores.toFixed(2)} cores of ${cores}`;

  const callMs = point.dequeueCallMeanMs ?? 0;
  const calling = ((callMs / 1000) * (dequeuePerSec / operationsPerTransaction)) / (threads * subscribers);
  if (calling > callingShareMax)
    return `${percent(calling)} of its dequeuers were inside a call at the same time`;
  return isDurable && commits >= commitsMin
    ? (syncContradiction(point) ?? kernelContradiction(point))
    : kernelContradiction(point);
}

/** A dequeuer with rows in transactions of their own has a second session for them. */
const sessionsOf = ({ threads, subscribers = 1, rows }: QueuePoint['params']): number =>
  threads * (1 + subscribers + (rows === 'separate' ? 1 : 0));

/** Of the shares of their time that sessions' time books explain; null if they explain it, or there are none. */
export function timeContradiction(timeAccounted: readonly number[]): string | null {
  const wrong = timeAccounted.find((share) => Math.abs(share - 1) > unaccountedShareMax);
  return wrong === undefined
    ? null
    : `the time books of its sessions explain ${percent(wrong)} of their time`;
}

/** Of the sessions' time books, with the time that elapsed and with the CPU that the kernel counted of their threads. */
function bookContradiction(point: QueuePoint, cores: number | null): string | null {
  const { timeAccounted, sessionCpuOfThread = 0, kernel, params, repeats } = point;
  const unaccounted = timeContradiction(timeAccounted);
  if (unaccounted !== null) return unaccounted;
  // Remote sessions are in other processes than those that the kernel's counts are of.
  if (cores === null || kernel === null || params.sessions === 'remote') return null;
  const isUndisturbed = repeats.every(({ disturbance }) => disturbance?.isDisturbed === false);
  if (
    !isUndisturbed ||
    kernel.cores > freeCoresShareMax * cores ||
    sessionCpuOfThread <= sessionCpuOfThreadMax
  )
    return null;
  return `its sessions were on CPU ${sessionCpuOfThread.toFixed(2)} times as long as their threads, while cores were free`;
}

/** By what the system says of a repeat. The product of a point's medians is another quantity: its repeats may differ in both. */
const coresOfMessages = ({ cpuUsPerMessage, dequeuePerSec }: QueuePoint['repeats'][number]): number =>
  (cpuUsPerMessage * dequeuePerSec) / 1e6;

/** Between the waits of sessions and the times of their writers. */
function syncContradiction({ system, params, waits, syncWaitOfWrite: multiple }: QueuePoint): string | null {
  const synced = waits.find(({ event }) => event === 'log file sync');
  if (multiple === undefined || synced === undefined || synced.waits === 0) return null;
  const waitMs = synced.totalMs / synced.waits;
  const writeMs = waitMs / multiple;
  const { instances, threads, operationsPerTransaction, payloadBytes } = params;
  const furtherGroups = ((threads / instances) * operationsPerTransaction * payloadBytes) / groupBytes;
  const most = sharesOneTable(system)
    ? syncWaitMax.own * writeMs
    : (syncWaitMax.grouped + furtherGroups) * writeMs + turnMsMax;
  if (multiple >= syncWaitMin && waitMs <= most) return null;
  return `its commits waited ${waitMs.toFixed(2)} ms for a log file sync, and their writer took ${writeMs.toFixed(2)} ms for them`;
}

/** Between what the system says and what the kernel counted of its processes. */
function kernelContradiction(point: QueuePoint): string | null {
  const { kernel, params, enqueuePerSec, dequeuePerSec, repeats } = point;
  if (kernel === null) return null;
  const { threads, subscribers = 1, operationsPerTransaction, durability, payloadBytes } = params;
  const bytesPerSec = enqueuePerSec * payloadBytes;
  if (durability !== 'memory' && kernel.writtenBytesPerSec < writtenShareMin * bytesPerSec)
    return `its processes wrote ${mib(kernel.writtenBytesPerSec)} a second, and its messages have ${mib(bytesPerSec)}`;
  const commitsPerSec = (enqueuePerSec + dequeuePerSec) / operationsPerTransaction;
  const syncsPerSec = commitsPerSec / (threads * (1 + subscribers));
  if (
    durability !== 'memory' &&
    durability !== 'relaxed' &&
    kernel.blocksPerSec < blocksPerSyncMin * syncsPerSec
  )
    return `its threads blocked ${inThousands(kernel.blocksPerSec)} times a second, and its commits need ${inThousands(syncsPerSec)} syncs a second or more`;
  const cores = median(repeats.map(coresOfMessages));
  if (Math.abs(cores - kernel.cores) > cpuAgreement * Math.max(cores, kernel.cores) + kernelCoresNoise)
    return `its messages took ${cores.toFixed(2)} cores, of which the kernel counted ${kernel.cores.toFixed(2)}`;
  return null;
}

/** "3,947" */
const inThousands = (value: number) => Math.round(value).toLocaleString('en-GB');

const mib = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(2)} MiB`;
