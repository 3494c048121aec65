/** Text for cluster events: a sentence for the event log, a short label for an annotation in a chart. */
import type { ClusterEvent, ClusterInstance } from '@shardlab/contract';
import { formatMs } from './format.ts';

export type Tone = 'good' | 'bad' | 'live' | 'quiet';

/** The instance that each process belongs to, by process id. */
export type ProcessNames = ReadonlyMap<number, number>;

export function processNames(
  events: readonly ClusterEvent[],
  instances: readonly ClusterInstance[],
): ProcessNames {
  const names = new Map<number, number>();
  for (const { type, pid, instance } of events) if (type === 'process:started') names.set(pid, instance);
  for (const { process, instance } of instances) if (process !== null) names.set(process.pid, instance);
  return names;
}

export function eventSentence(event: ClusterEvent, names: ProcessNames): string {
  const { type, instance, pid, tookMs, epoch, fromPid, toPid } = event;
  const nameOf = (id: number | undefined) => processName(id, names);
  const duration = tookMs === undefined ? '' : formatMs(tookMs);
  switch (type) {
    case 'lease:acquired':
      return event.role === 'failover'
        ? `Lease on instance ${instance} acquired by ${nameOf(pid)} for failover: epoch ${epoch}, open after ${duration}.`
        : `Lease on instance ${instance} acquired by its own process ${pid}: epoch ${epoch}, open after ${duration}.`;
    case 'instance:taken-over': {
      const kill = event.killed ? `, which first killed ${nameOf(fromPid)}` : '';
      const why = event.message === undefined ? '' : ` (${event.message})`;
      return `Instance ${instance} taken over by ${nameOf(pid)} after a failure${why}${kill}: available again ${duration} after it was detected.`;
    }
    case 'instance:moved':
      return `Instance ${instance} moved to ${nameOf(pid)}, because its own process was stopped: available again after ${duration}.`;
    case 'instance:returned':
      return `Instance ${instance} returned to its own process ${toPid}: released after ${duration}.`;
    case 'instance:released':
      return `Instance ${instance} closed cleanly by ${nameOf(pid)}.`;
    case 'instance:fenced':
      return `Instance ${instance} fenced in ${nameOf(pid)}: another process holds its lease now.`;
    case 'instance:failed':
      return `Instance ${instance} failed in ${nameOf(pid)}: ${reasonOf(event)}.`;
    case 'instance:unhealthy':
      return `Instance ${instance} cannot be served by ${nameOf(pid)} and will be taken over: ${reasonOf(event)}.`;
    case 'instance:damaged':
      return `Stored data of instance ${instance} is damaged: ${event.message ?? 'no details given'}.`;
    case 'messages:lost':
      return `Instance ${instance} lost nonpersistent messages with the process that hosted it: ${event.message ?? 'no details given'}.`;
    case 'takeover:blocked':
      return `Instance ${instance} cannot be taken over: ${nameOf(fromPid)} cannot be killed.`;
    case 'instance:added':
      return `Instance ${instance} added.`;
    case 'instance:removed':
      return `Instance ${instance} removed: it accepts no new messages and stays available until it is empty.`;
    case 'instance:deregistered':
      return `Instance ${instance} is empty and has been deleted.`;
    case 'process:started':
      return `Process ${pid} of instance ${instance} started.`;
    case 'process:ended':
      return event.signal === undefined
        ? `Process ${pid} of instance ${instance} exited ${event.exitCode === 0 ? 'cleanly' : `with code ${event.exitCode}`}.`
        : `Process ${pid} of instance ${instance} killed by ${event.signal}.`;
    case 'process:restarting':
      return `The process of instance ${instance} exited unexpectedly and restarts ${event.inMs ? `in ${formatMs(event.inMs)}` : 'now'}: ${reasonOf(event)}.`;
    case 'process:given-up':
      return `The process of instance ${instance} is given up after ${event.attempts} attempts: ${reasonOf(event)}.`;
    case 'process:slow':
      return `Process ${pid} of instance ${instance} is slow: no turn of its event loop for ${duration}.`;
    case 'process:responsive':
      return `Process ${pid} of instance ${instance} is responsive again; it was slow for up to ${duration}.`;
    case 'process:hung':
      return `Process ${pid} of instance ${instance} has failed and is killed: ${reasonOf(event)}.`;
    case 'process:paused':
      return `Process ${pid} of instance ${instance} paused (SIGSTOP).`;
    case 'process:resumed':
      return `Process ${pid} of instance ${instance} resumed (SIGCONT).`;
  }
}

const tones: Readonly<Partial<Record<ClusterEvent['type'], Tone>>> = {
  'lease:acquired': 'live',
  'instance:taken-over': 'good',
  'instance:moved': 'live',
  'instance:returned': 'good',
  'instance:fenced': 'bad',
  'instance:failed': 'bad',
  'instance:unhealthy': 'bad',
  'instance:damaged': 'bad',
  'messages:lost': 'bad',
  'takeover:blocked': 'bad',
  'process:restarting': 'live',
  'process:given-up': 'bad',
  'process:slow': 'bad',
  'process:responsive': 'good',
  'process:hung': 'bad',
  'process:paused': 'bad',
};

export function eventTone(event: ClusterEvent): Tone {
  if (event.type === 'process:ended') return event.exitCode === 0 ? 'quiet' : 'bad';
  return tones[event.type] ?? 'quiet';
}

/** A short label for an annotation in a chart; null for an event that gets none. */
export function eventLabel(event: ClusterEvent): string | null {
  const { type, instance } = event;
  switch (type) {
    case 'process:ended':
      return event.exitCode === 0 ? `${instance} stopped` : `${instance} killed`;
    case 'process:paused':
      return `${instance} paused`;
    case 'process:resumed':
      return `${instance} resumed`;
    case 'process:restarting':
      return `${instance} restarted`;
    case 'instance:taken-over':
      return `${instance} taken over`;
    case 'instance:moved':
      return `${instance} moved`;
    case 'process:slow':
      return `${instance} slow`;
    case 'instance:returned':
      return `${instance} returned`;
    case 'instance:added':
      return `${instance} added`;
    case 'instance:removed':
      return `${instance} removed`;
    default:
      return null;
  }
}

function reasonOf({ code, message }: ClusterEvent): string {
  return `${message ?? 'no reason given'} (${code})`;
}

function processName(pid: number | undefined, names: ProcessNames): string {
  const instance = pid === undefined ? undefined : names.get(pid);
  return instance === undefined ? `process ${pid}` : `the process of instance ${instance}`;
}
