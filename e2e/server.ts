/** The real server, as `npm start` runs it, on a free port and in a data folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../apps/server/src/main.ts', import.meta.url));
/** What the servers print, kept for inspection after a failure. */
const logFolder = fileURLToPath(new URL('../test-results/', import.meta.url));
/** A timeout for hangs. It is long, since tests may run at the same time. */
const readyWithinMs = 60_000;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

export class LabServer {
  readonly url: string;
  readonly dataDir: string;
  readonly #spawn: () => ChildProcess;
  #child: ChildProcess;
  /** The end of what the process printed. */
  output = '';

  private constructor(port: number, dataDir: string, logName: string, env: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`;
    this.dataDir = dataDir;
    mkdirSync(logFolder, { recursive: true });
    const log = createWriteStream(join(logFolder, logName));
    this.#spawn = () => {
      const child = spawn(process.execPath, [main], {
        env: { ...process.env, PORT: String(port), DATA_DIR: dataDir, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          log.write(text);
          this.output = (this.output + text).slice(-10_000);
        });
      }
      return child;
    };
    this.#child = this.#spawn();
  }

  /** Starts a server, and resolves once it is healthy or requires a key; rejects with its last output if it ends before. */
  static async start(logName: string, env: Record<string, string> = {}): Promise<LabServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'shardlab-e2e-'));
    rmSync(join(logFolder, logName), { force: true });
    const server = new LabServer(await freePort(), dataDir, logName, env);
    await server.#untilHealthy();
    return server;
  }

  async #untilHealthy(): Promise<void> {
    const deadline = AbortSignal.timeout(readyWithinMs);
    while (!(await this.#isHealthy())) {
      if (this.#child.exitCode !== null || deadline.aborted) {
        await this.stop();
        throw new Error(`the server did not become healthy; its last output:\n${this.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends the process, and starts it again at the same address with the same data. */
  async restart(): Promise<void> {
    await this.#end();
    await this.startAgain();
  }

  /** Starts a process that has ended again, at the same address with the same data. */
  async startAgain(): Promise<void> {
    this.#child = this.#spawn();
    await this.#untilHealthy();
  }

  async #isHealthy(): Promise<boolean> {
    try {
      const { ok, status } = await fetch(`${this.url}/api/health`);
      return ok || status === 401;
    } catch {
      return false; // not listening yet
    }
  }

  /** Kills the process, as if the machine had failed. Its data are kept until `stop`. */
  async kill(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** Suspends the process: its connections remain, and no request is answered. */
  suspend(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Asks the process to end, waits for it and removes its data. Resolves to the exit code, null if it was killed. */
  async stop(): Promise<number | null> {
    await this.#end();
    await rm(this.dataDir, { recursive: true, force: true });
    return this.#child.exitCode;
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}
