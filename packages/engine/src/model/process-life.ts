/**
 * The life of an instance's process as its supervisor sees it, over all the processes that the instance has one after the other.
 * The states distinguish a requested exit from an unrequested one. Only after an unrequested exit is the process restarted.
 *
 *     stopped     no process, as requested; it stays so until it is started
 *     starting    a process opens the instance
 *     running     a process serves
 *     paused      suspended, as requested
 *     stopping    requested to close its files and exit
 *     killing     SIGKILL was sent, as requested
 *     killed      no process: it was killed on request, or while it was paused. It stays so while another process can host its instance
 *     backingOff  no process, after an unrequested exit: one is started after a pause
 *     givenUp     no process: the processes of the last attempts all exited soon
 */
import { TransitionTable } from './transition-table.ts';

export type ProcessState =
  | 'stopped'
  | 'starting'
  | 'running'
  | 'paused'
  | 'stopping'
  | 'killing'
  | 'killed'
  | 'backingOff'
  | 'givenUp';

export type ProcessCommand =
  /** A process is requested. */
  | 'start'
  /** The process has opened its instance and serves it. */
  | 'open'
  | 'pause'
  | 'resume'
  | 'stop'
  | 'kill'
  /** The process is gone, however it ended. */
  | 'end'
  /** The supervisor starts a process on its own account. */
  | 'restart'
  | 'giveUp';

export const processLife = new TransitionTable<ProcessState, ProcessCommand>('a process of an instance', {
  stopped: { start: 'starting' },
  starting: { open: 'running', stop: 'stopping', kill: 'killing', end: 'backingOff' },
  // A process that was suspended from outside is resumed too.
  running: { pause: 'paused', resume: 'running', stop: 'stopping', kill: 'killing', end: 'backingOff' },
  paused: { pause: 'paused', resume: 'running', stop: 'stopping', kill: 'killing', end: 'killed' },
  stopping: { stop: 'stopping', kill: 'stopping', end: 'stopped' },
  killing: { kill: 'killing', stop: 'stopping', end: 'killed' },
  killed: { start: 'starting', restart: 'starting' },
  backingOff: { start: 'starting', restart: 'starting', stop: 'stopped', giveUp: 'givenUp' },
  givenUp: { start: 'starting', stop: 'stopped' },
});

/** Whether a process serves instances in this state, or will without anybody asking for it. */
export function canHost(state: ProcessState): boolean {
  return state === 'starting' || state === 'running' || state === 'backingOff';
}
