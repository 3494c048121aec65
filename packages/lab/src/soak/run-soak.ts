/**
 * A soak test: measures the maximum rate of an instance, then keeps it at a share of that rate for minutes and observes
 * its memory, write-ahead log and latency.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Integrity } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { judgeSoak, type RuleOutcome, type Sample } from './judge.ts';
import type { SoakConfig, SoakOrder, SoakReply, SoakWindow } from './protocol.ts';

export interface SoakOptions {
  /** Folder for the data; created if missing. */
  dir: string;
  saturateMs: number;
  steadyMs: number;
  windowMs: number;
  /** Share of the measured maximum rate; default 0.7. */
  share?: number;
  seed?: number;
  onWindow?(window: SoakWindow, memoryBytes: number, logBytes: number): void;
}

export interface SoakResult {
  config: SoakConfig;
  share: number;
  saturationPerSec: number;
  targetPerSec: number;
  sent: number;
  consumed: number;
  ms: number;
  backlog: number;
  windows: SoakWindow[];
  memory: Sample[];
  log: Sample[];
  integrity: Integrity;
  rules: RuleOutcome[];
  passed: boolean;
}

const logEveryMs = 250;

/** Rejects with `WORKER_FAILED` if the process ends unexpectedly. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { dir, saturateMs, steadyMs, windowMs, share = 0.7, seed = 1, onWindow } = options;
  mkdirSync(dir, { recursive: true });
  const config: SoakConfig = {
    dir,
    seed,
    payloadBytes: 512,
    operationsPerTransaction: 10,
    enqueuers: 4,
    dequeuers: 4,
  };
  const worker = new SoakProcess(config);
  try {
    await worker.reply('ready');
    worker.order({ do: 'saturate', ms: saturateMs });
    const { perSec: saturationPerSec } = await worker.reply('saturated');
    const targetPerSec = saturationPerSec * share;

    const [windows, memory, log]: [SoakWindow[], Sample[], Sample[]] = [[], [], []];
    worker.on('memory', ({ atMs, bytes }) => memory.push({ atMs, bytes }));
    worker.on('window', ({ window }) => {
      windows.push(window);
      onWindow?.(window, memory.at(-1)?.bytes ?? 0, log.at(-1)?.bytes ?? 0);
    });
    const startedAt = performance.now();
    const path = join(dir, 'instance-1.db-wal');
    const look = () => log.push({ atMs: performance.now() - startedAt, bytes: sizeOf(path) });
    const looking = setInterval(look, logEveryMs);
    worker.order({ do: 'steady', perSec: targetPerSec, ms: steadyMs, windowMs });
    const { sent, consumed, ms, backlog } = await worker
      .reply('steady')
      .finally(() => clearInterval(looking));
    worker.order({ do: 'end' });
    const { integrity } = await worker.reply('ended');
    const figures = { targetPerSec, sent, consumed, ms, backlog, windows, memory, log, integrity };
    const rules = judgeSoak(figures);
    return {
      config,
      share,
      saturationPerSec,
      ...figures,
      rules,
      passed: rules.every(({ passed }) => passed),
    };
  } finally {
    await worker.end();
  }
}

/** The size of the log without opening it: closing a file that SQLite uses releases this process's locks on it. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

class SoakProcess {
  readonly #child: ChildProcess;
  readonly #failed: Promise<never>;
  readonly #listeners = new Map<SoakReply['type'], (reply: never) => void>();

  constructor(config: SoakConfig) {
    this.#child = fork(new URL('./worker.ts', import.meta.url), [JSON.stringify(config)]);
    this.#failed = once(this.#child, 'exit').then(([code, signal]) => {
      throw new LabError('WORKER_FAILED', {
        message: `The process of the soak test ended unexpectedly (${code === null ? signal : `exit code ${code}`})`,
      });
    });
    this.#failed.catch(() => undefined); // a clean end also rejects it, when no caller waits any more
    this.#child.on('message', (reply: SoakReply) => this.#listeners.get(reply.type)?.(reply as never));
  }

  on<T extends SoakReply['type']>(type: T, listener: (reply: Extract<SoakReply, { type: T }>) => void): void {
    this.#listeners.set(type, listener as (reply: never) => void);
  }

  reply<T extends SoakReply['type']>(type: T): Promise<Extract<SoakReply, { type: T }>> {
    const came = new Promise<Extract<SoakReply, { type: T }>>((resolve) => this.on(type, resolve));
    return Promise.race([came, this.#failed]);
  }

  order(order: SoakOrder): void {
    this.#child.send(order);
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.kill('SIGKILL');
    await this.#failed.catch(() => undefined);
  }
}
