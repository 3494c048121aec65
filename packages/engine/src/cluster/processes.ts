/** Processes as a port, passed to the code that hosts instances, so that a test can run failover without real processes. */
import type { Pid } from '../model/ids.ts';
import type { InstancePorts, ProcessStarter, ProcessTable } from '../model/ports.ts';

/** The parts of Node's `ChildProcess` that the supervisor uses. */
export interface ForkedProcess {
  readonly pid?: Pid | undefined;
  readonly connected: boolean;
  /** `onSent` is called once the message was sent, or with the error. */
  send(message: object, onSent: () => void): unknown;
  kill(signal: NodeJS.Signals): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as Node declares it; the two ends of the channel agree on a type.
  on(event: 'message', listener: (message: any) => void): unknown;
  once(event: 'error', listener: (cause: Error) => void): unknown;
  once(event: 'exit', listener: (exitCode: number | null, signal: string | null) => void): unknown;
}

export interface Processes extends ProcessTable, ProcessStarter {
  /** Of this process: its CPU time so far, and the memory that it has now. */
  usage(): { cpuUs: number; rssBytes: number };
  /** Starts a process that runs `module`, with a message channel to this one. */
  fork(module: URL, options: { execArgv: string[] }): ForkedProcess;
  /** Sends SIGKILL. Returns false if this process may not send it; a process that has ended is no failure. */
  kill(pid: Pid): boolean;
}

export interface ClusterPorts extends InstancePorts {
  readonly processes: Processes;
}
