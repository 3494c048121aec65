/** One NATS server as a child process, which can be killed and started again with the same ports and folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

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
    const child = spawn(this.#options.program, ['-c', this.#file], { stdio: ['ignore', 'pipe', 'pipe'] });
    const killWithUs = () => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    this.#child = child;
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
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

  /** Servers that this one, if it leads JetStream, knows and reaches; 0 if it does not lead. */
  async reachablePeers(): Promise<number> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#options.monitorPort}/jsz`, {
        signal: AbortSignal.timeout(1_000),
      });
      const { meta_cluster: cluster } = (await answer.json()) as {
        meta_cluster?: { replicas?: { current?: boolean; offline?: boolean }[] };
      };
      return (cluster?.replicas ?? []).filter(({ current, offline }) => current && !offline).length;
    } catch {
      return 0;
    }
  }

  /** `SIGKILL`, as a crash of the machine is without the loss of what was not synced. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
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
    if (child === undefined) return;
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
    await this.#ended;
    clearTimeout(late);
  }
}

/** As many ports of the loopback interface that nobody listens on. Another process may take one before it is used. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
