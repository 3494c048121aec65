/** A `member-worker.ts` as its test sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { FromMember, MemberWorkerOptions } from './member-worker.ts';

export class MemberProcess {
  readonly child: ChildProcess;
  readonly #messages: FromMember[] = [];
  readonly #watchers = new Set<() => void>();
  ended: { exitCode: number | null; signal: string | null } | undefined;

  constructor(options: MemberWorkerOptions, fault: { hangFlag?: string } = {}) {
    const hangs = fault.hangFlag !== undefined;
    this.child = fork(new URL('./member-worker.ts', import.meta.url), [JSON.stringify(options)], {
      execArgv: hangs ? ['--import', new URL('./hang-writer.ts', import.meta.url).href] : [],
      // From sources: in a bundle the writer thread has a SQLite of its own, which the fault would not reach.
      env: { ...process.env, ...(hangs ? { HANG_WRITER: fault.hangFlag, NODE_OPTIONS: '' } : {}) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child.on('message', (message: FromMember) => {
      this.#messages.push(message);
      this.#wake();
    });
    this.child.on('exit', (exitCode, signal) => {
      this.ended = { exitCode, signal };
      this.#wake();
    });
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  get pid(): number {
    return this.child.pid!;
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** The first message, early or late, for which `find` gives something. Rejects if the process ends before. */
  until<T>(find: (message: FromMember) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = () => {
        for (const message of this.#messages) {
          const found = find(message);
          if (found === undefined) continue;
          this.#watchers.delete(look);
          return resolve(found);
        }
        if (this.ended !== undefined) reject(new Error(`the process ended: ${JSON.stringify(this.ended)}`));
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Resolves with the next message, or the end of the process. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  async untilEnded(): Promise<NonNullable<MemberProcess['ended']>> {
    if (this.ended === undefined) await once(this.child, 'exit');
    return this.ended!;
  }

  /** It hosts its own instance, and takes over others from now on. */
  async watch(): Promise<void> {
    await this.until((message) => (message.type === 'joined' ? true : undefined));
    this.child.send('start-failover');
  }

  /** The instance is in service in this process: a consumption on it was acknowledged. */
  working(instance: number): Promise<number> {
    return this.until((message) =>
      message.type === 'working' && message.instance === instance ? message.atMs : undefined,
    );
  }

  events(type: string) {
    return this.#messages.flatMap((message) =>
      message.type === 'event' && message.event.type === type ? [message.event] : [],
    );
  }

  event(type: string, instance: number) {
    return this.until((message) =>
      message.type === 'event' && message.event.type === type && message.event.instance === instance
        ? message.event
        : undefined,
    );
  }

  /** Resolves when no transaction is under way in it; sent `work`, it continues. */
  async calm(): Promise<void> {
    this.child.send('calm');
    await this.until((message) => (message.type === 'calm' ? true : undefined));
  }

  async leave(): Promise<void> {
    this.child.send('leave');
    await this.untilEnded();
  }
}
