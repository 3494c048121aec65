/** Servers of the peers, started and stopped by the bench on private sockets and folders. */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface ServerOptions {
  /** A folder on the disk under test, for what the server stores; made already. */
  dir: string;
  /** A folder for sockets: short, since a socket's path may have at most about 100 bytes. */
  socketDir: string;
  durability: string;
  /** Members of a cluster; only our own server has them. */
  instances: number;
}

export interface Server {
  endpoints: string[];
  /** Roots of the process trees whose CPU is the server's. */
  pids: number[];
  stop(): Promise<void>;
}

/** How a server is found and started. */
export interface ServerKind {
  /** The Debian package that has it; null for what comes with the bench. */
  aptPackage: string | null;
  /** Null where it is not installed. */
  version(): string | null;
  /** Why a durability cannot be had from the installed version; null if it can. */
  refuses?(durability: string): string | null;
  /** Resolves when it accepts connections. */
  start(options: ServerOptions): Promise<Server>;
}

/** The path of a program, looked for on the PATH and in further folders; null if it is nowhere. */
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
/** What is kept of what a server said, to name the cause when it does not start. */
const outputCharsMax = 2_000;

export interface SpawnedServer {
  child: ChildProcess;
  /** Resolves when `ready` does; rejects with the server's last words if it ends before or takes too long. */
  untilReady(ready: () => Promise<boolean>): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server as a child that is killed with the bench, and stops it by a signal. */
export function spawnServer(
  command: string,
  args: readonly string[],
  identity: { uid?: number; gid?: number; cwd?: string } = {},
): SpawnedServer {
  const child = spawn(command, args, { ...identity, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputCharsMax);
    });
  }
  let ended: string | null = null;
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
    async untilReady(ready) {
      const until = performance.now() + readyWithinMs;
      while (!(await ready())) {
        if (ended !== null || performance.now() > until) {
          throw new Error(`${command} ${ended ?? 'is not ready in time'}: ${output.trim()}`);
        }
        await pause(10);
      }
    },
    async stop(signal = 'SIGTERM') {
      process.off('exit', killWithUs);
      if (ended !== null) return;
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await exit;
      clearTimeout(late);
    },
  };
}

/** Whether somebody accepts connections at a Unix socket. */
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
