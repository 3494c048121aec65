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
  // Not after a file: the next one of this process has this module, and its library, too.
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

/** Why there is none here, for the name of a skipped test. */
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
    onTestFinished(() => this.heal()); // so that the process can end in order
  }

  /** From now on calls for files whose path ends like this fail. */
  fail(what: 'sync' | 'space', suffix: string): void {
    writeFileSync(this.#control, `${what} ${suffix}\n`);
  }

  heal(): void {
    rmSync(this.#control, { force: true });
  }

  /** Calls that failed so far. */
  get failures(): number {
    return existsSync(this.#log) ? readFileSync(this.#log).length : 0;
  }
}

/** Starts a process that is killed at its `call`-th write, sync or cut of an instance's files. */
export function killedAtCall(call: number, { instance = 1 } = {}): FaultProcess {
  return new FaultProcess({ env: killAt(`/instance-${instance}.`, call) });
}

/** The environment of a process that is killed so, at files whose path has this in it. */
export function killAt(path: string, call: number): Record<string, string> {
  return { LD_PRELOAD: library!, FAULT_KILL_PATH: path, FAULT_KILL_AT: String(call) };
}
