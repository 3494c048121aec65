/** What happens in a cluster, in words: a sentence for the list, a label for a mark over time. */
import type { ClusterEvent, ClusterInstance } from '@shardlab/contract';
import { formatMs } from './format.ts';

export type Tone = 'good' | 'bad' | 'live' | 'quiet';

/** Names a process by the instance that it is for, where that is known. */
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
  const by = (id: number | undefined) => processName(id, names);
  const took = tookMs === undefined ? '' : formatMs(tookMs);
  switch (type) {
    case 'lease:taken':
      return event.role === 'guest'
        ? `Lease on instance ${instance} taken by ${by(pid)}, as its guest: epoch ${epoch}, open after ${took}.`
        : `Lease on instance ${instance} taken by its own process ${pid}: epoch ${epoch}, open after ${took}.`;
    case 'instance:taken-over': {
      const ended = event.killed ? `, which ended ${by(fromPid)} first` : '';
      return `Instance ${instance} taken over by ${by(pid)}${ended}: served again ${took} after it was missed.`;
    }
    case 'instance:given-back':
      return `Instance ${instance} given back to its own process ${toPid}: free after ${took}.`;
    case 'instance:released':
      return `Instance ${instance} released in order by ${by(pid)}.`;
    case 'instance:fenced':
      return `Instance ${instance} fenced in ${by(pid)}: another process has it.`;
    case 'instance:failed':
      return `Instance ${instance} failed in ${by(pid)}: ${event.message ?? 'no reason given'} (${event.code}).`;
    case 'takeover:blocked':
      return `Instance ${instance} cannot be taken over: ${by(fromPid)} cannot be ended.`;
    case 'instance:added':
      return `Instance ${instance} added.`;
    case 'instance:removed':
      return `Instance ${instance} removed: it takes no messages, and is served until it is empty.`;
    case 'instance:forgotten':
      return `Instance ${instance} is empty and gone.`;
    case 'process:started':
      return `Process ${pid} of instance ${instance} started.`;
    case 'process:ended':
      return event.signal === undefined
        ? `Process ${pid} of instance ${instance} ended${event.exitCode === 0 ? ' in order' : ` with code ${event.exitCode}`}.`
        : `Process ${pid} of instance ${instance} killed by ${event.signal}.`;
    case 'process:paused':
      return `Process ${pid} of instance ${instance} stopped where it stood (SIGSTOP).`;
    case 'process:resumed':
      return `Process ${pid} of instance ${instance} goes on (SIGCONT).`;
  }
}

const tones: Readonly<Partial<Record<ClusterEvent['type'], Tone>>> = {
  'lease:taken': 'live',
  'instance:taken-over': 'good',
  'instance:given-back': 'good',
  'instance:fenced': 'bad',
  'instance:failed': 'bad',
  'takeover:blocked': 'bad',
  'process:paused': 'bad',
};

export function eventTone(event: ClusterEvent): Tone {
  if (event.type === 'process:ended') return event.exitCode === 0 ? 'quiet' : 'bad';
  return tones[event.type] ?? 'quiet';
}

/** A few words for a mark in a chart; null for what is not worth one. */
export function eventMark(event: ClusterEvent): string | null {
  const { type, instance } = event;
  switch (type) {
    case 'process:ended':
      return event.exitCode === 0 ? `${instance} stopped` : `${instance} killed`;
    case 'process:paused':
      return `${instance} paused`;
    case 'process:resumed':
      return `${instance} resumed`;
    case 'instance:taken-over':
      return `${instance} taken over`;
    case 'instance:given-back':
      return `${instance} given back`;
    case 'instance:added':
      return `${instance} added`;
    case 'instance:removed':
      return `${instance} removed`;
    default:
      return null;
  }
}

function processName(pid: number | undefined, names: ProcessNames): string {
  const instance = pid === undefined ? undefined : names.get(pid);
  return instance === undefined ? `process ${pid}` : `the process of instance ${instance}`;
}
