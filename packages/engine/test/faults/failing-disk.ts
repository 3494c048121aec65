/** A process whose disk fails on demand: see `failing-disk.c`, which is compiled once a process. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { makeFolder } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

const source = fileURLToPath(new URL('./failing-disk.c', import.meta.url));

function compile(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'shardlab-failing-disk-'));
  // Removed at the exit and not after a test file, since later test files of this process use the same library.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const library = join(folder, 'failing-disk.so');
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' });
    return library;
  } catch {
    return undefined;
  }
}

const library = compile();

/** Why disks cannot be made to fail on this machine, for the title of a skipped test; undefined if they can. */
export const noFailingDisk =
  library === undefined ? 'needs Linux and a C compiler to make a disk fail' : undefined;

export class FailingDisk {
  readonly process: FaultProcess;
  readonly #control: string;
  readonly #log: string;

  constructor() {
    const folder = makeFolder();
    this.#control = join(folder, 'control');
    this.#log = join(folder, 'log');
    const env = { LD_PRELOAD: library!, FAULT_CONTROL: this.#control, FAULT_LOG: this.#log };
    this.process = new FaultProcess({ env });
    onTestFinished(() => this.heal()); // Lets the process end without failures.
  }

  /** Lets calls fail from now on for files whose path has this suffix. */
  fail(what: 'sync' | 'space', suffix: string): void {
    writeFileSync(this.#control, `${what} ${suffix}\n`);
  }

  heal(): void {
    rmSync(this.#control, { force: true });
  }

  /** Number of calls that have failed. */
  get failures(): number {
    return existsSync(this.#log) ? readFileSync(this.#log).length : 0;
  }
}

/** Starts a process that is killed at its `call`-th write, sync or truncation of an instance's files. */
export function killedAtCall(call: number, { instance = 1 } = {}): FaultProcess {
  return new FaultProcess({ env: killAt(`/instance-${instance}.`, call) });
}

/** The environment of a process that is killed at its `call`-th such call for files whose path contains `path`. */
export function killAt(path: string, call: number): Record<string, string> {
  return { LD_PRELOAD: library!, FAULT_KILL_PATH: path, FAULT_KILL_AT: String(call) };
}
