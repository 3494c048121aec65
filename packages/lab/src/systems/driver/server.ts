/** Servers of queue systems, started for a trial and stopped after it, with private sockets and folders. */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface ServerOptions {
  /** An existing folder on the tested disk for the server's data. */
  dir: string;
  /** A folder for sockets with a short path, because the path of a socket can have at most about 100 bytes. */
  socketDir: string;
  durability: string;
  /** Number of cluster members; only our own server has several. */
  instances: number;
}

export interface Server {
  endpoints: string[];
  /** Roots of the process trees whose CPU time counts as the server's. */
  pids: number[];
  /** Default: by SIGTERM. SIGKILL is for servers that are started again on the same files. */
  stop(signal?: 'SIGKILL'): Promise<void>;
  /** How it ended although nothing stopped it, with the last of what it printed; null while it runs. */
  readonly failure?: string | null;
}

/** Finds and starts a kind of server. */
export interface ServerKind {
  /** The Debian package that contains it; null if it is part of this repository, or `install` says how to get it. */
  aptPackage: string | null;
  /** The requirement and the line that installs it, for a server without a Debian package. */
  install?: string;
  /** Null if it is not installed. */
  version(): string | null;
  /** The version that a durability needs, if the installed one lacks it; null if it supports it. */
  refuses?(durability: string): string | null;
  /** The requirement that a folder does not meet for the server's data; null if it does. */
  refusesFolder?(folder: string): string | null;
  /** Resolves when the server accepts connections. */
  start(options: ServerOptions): Promise<Server>;
}

/** The path of a program on the PATH or in further folders; null if not found. */
export function findProgram(name: string, folders: readonly string[] = []): string | null {
  const path = (process.env.PATH ?? '').split(delimiter);
  for (const folder of [...folders, ...path, '/usr/sbin', '/usr/bin', '/usr/local/bin']) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // not here
    }
  }
  return null;
}

const readyWithinMs = 20_000;
const stopWithinMs = 10_000;
/** Characters of a server's output that are kept, to report why it did not start. */
const outputCharsMax = 2_000;

export interface SpawnedServer {
  child: ChildProcess;
  /** The last of what it printed. */
  output(): string;
  /** How it ended although nothing stopped it; null while it runs. */
  readonly failure: string | null;
  /** Resolves when `ready` does; rejects with the server's last output if it ends earlier or takes too long. */
  untilReady(ready: () => Promise<boolean>): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server as a child process that is killed with this process and stopped by a signal. */
export function spawnServer(
  command: string,
  args: readonly string[],
  identity: { uid?: number; gid?: number; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): SpawnedServer {
  const child = spawn(command, args, { ...identity, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputCharsMax);
    });
  }
  let ended: string | null = null;
  let isStopped = false;
  const inWords = () => `${command} ${ended ?? 'did not become ready in time'}: ${output.trim()}`;
  const exit = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = error.message;
      resolve();
    });
    child.once('exit', (code, signal) => {
      ended = `ended with ${signal ?? `code ${String(code)}`}`;
      resolve();
    });
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  return {
    child,
    output: () => output,
    async untilReady(ready) {
      const until = performance.now() + readyWithinMs;
      while (!(await ready())) {
        if (ended !== null || performance.now() > until) {
          throw new Error(inWords());
        }
        await pause(10);
      }
    },
    get failure() {
      return ended === null || isStopped ? null : inWords();
    },
    async stop(signal = 'SIGTERM') {
      process.off('exit', killWithUs);
      if (ended !== null) return;
      isStopped = true;
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await exit;
      clearTimeout(late);
    },
  };
}

/** A server of one or several processes that are ready. `stop` ends each of them; by default with the signal, or with SIGTERM. */
export function readyServer(
  endpoints: string[],
  processes: readonly SpawnedServer[],
  stop: (process: SpawnedServer, signal?: NodeJS.Signals) => Promise<void> = (each, signal) =>
    each.stop(signal),
): Server {
  return {
    endpoints,
    pids: processes.map(({ child }) => child.pid!),
    async stop(signal) {
      await Promise.all(processes.map((each) => stop(each, signal)));
    },
    get failure() {
      return processes.find(({ failure }) => failure !== null)?.failure ?? null;
    },
  };
}

/** Whether a Unix socket accepts connections. */
export function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
