/** One NATS server as a child process, which can be killed and started again with the same ports and folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { LossyDisk } from './lossy-disk/lossy-disk.ts';

const readyMsMax = 20_000;
const stopMsMax = 10_000;
/** Characters of a server's output that are kept, to report why it did not start. */
const outputCharsMax = 4_000;

export interface NatsProcessOptions {
  program: string;
  /** An existing folder of its own. */
  dir: string;
  /** The text of the server's configuration. */
  configuration: string;
  monitorPort: number;
  /** Mounted on an existing folder while the server runs. */
  disk?: { disk: LossyDisk; folder: string };
}

export class NatsProcess {
  readonly #options: NatsProcessOptions;
  readonly #file: string;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #output = '';

  constructor(options: NatsProcessOptions) {
    this.#options = options;
    this.#file = join(options.dir, 'server.conf');
    writeFileSync(this.#file, options.configuration);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when JetStream answers. Rejects with the last output if the server ends before or takes too long. */
  async start(): Promise<void> {
    const child = this.#spawn();
    const killWithUs = () => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    this.#child = child;
    this.#output = '';
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-outputCharsMax);
      });
    }
    this.#ended = new Promise((resolve) => {
      const onEnd = () => {
        process.off('exit', killWithUs);
        if (this.#child === child) this.#child = undefined;
        resolve();
      };
      child.once('error', onEnd);
      child.once('exit', onEnd);
    });
    const until = performance.now() + readyMsMax;
    while (!(await this.isHealthy())) {
      if (this.#child !== child || performance.now() > until) {
        throw new Error(`nats-server did not become ready: ${this.#output.trim()}`);
      }
      await pause(50);
    }
  }

  #spawn(): ChildProcess {
    const { program, disk } = this.#options;
    const args = ['-c', this.#file];
    if (disk === undefined) return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const mounted = disk.disk.mountFor(disk.folder, program, args);
    return spawn(mounted.command, mounted.args, { stdio: ['ignore', 'pipe', 'pipe', mounted.device] });
  }

  /** Whether the server and its part of JetStream are ready, which for one of a cluster includes a known leader. */
  async isHealthy(): Promise<boolean> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#options.monitorPort}/healthz`, {
        signal: AbortSignal.timeout(1_000),
      });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      return false;
    }
  }

  /** `SIGKILL`, as a crash of the machine is without the loss of what was not synced. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
    await this.#options.disk?.disk.unmounted();
  }

  /** A kill after which unsynced bytes are lost. Throws a RangeError without a disk that supports it. */
  async cutPower(): Promise<void> {
    const { disk } = this.#options;
    if (disk === undefined) throw new RangeError('This server has no disk that forgets');
    await this.kill();
    await disk.disk.cutPower();
  }

  /** Syncs all bytes written so far, so that they survive a power cut, as the kernel does within half a minute. */
  writeBack(): void {
    this.#options.disk?.disk.writeBack();
  }

  /** `SIGSTOP` and `SIGCONT`: the process is there and does not answer. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
      await this.#ended;
      clearTimeout(late);
    }
    await this.#options.disk?.disk.close();
  }
}

/** Range below the ephemeral ports, so that the kernel does not assign one of them before it is used. */
const ports = { first: 20_000, last: 32_000 };

/** Finds `count` free ports of the loopback interface. Another caller may take one before it is used. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = ports.first + Math.floor(Math.random() * (ports.last - ports.first + 1));
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
