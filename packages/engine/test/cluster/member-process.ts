/** A process that runs `member-worker.ts`. */
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
      // The engine is loaded from its sources, since the planted fault does not reach the SQLite in a bundle's writer thread.
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

  /** What it has sent so far. */
  get messages(): readonly FromMember[] {
    return this.#messages;
  }

  /** Resolves with the first result of `find` for a message, past or future. Rejects if the process ends before. */
  until<T>(find: (message: FromMember) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = () => {
        for (const message of this.#messages) {
          const found = find(message);
          if (found === undefined) continue;
          this.#watchers.delete(check);
          return resolve(found);
        }
        if (this.ended !== undefined) reject(new Error(`the process ended: ${JSON.stringify(this.ended)}`));
      };
      this.#watchers.add(check);
      check();
    });
  }

  /** Resolves at the next message, or when the process ends. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
    });
  }

  async untilEnded(): Promise<NonNullable<MemberProcess['ended']>> {
    if (this.ended === undefined) await once(this.child, 'exit');
    return this.ended!;
  }

  /** Waits until the process hosts its own instance, and then lets it take over others. */
  async startFailover(): Promise<void> {
    await this.until((message) => (message.type === 'joined' ? true : undefined));
    this.child.send('start-failover');
  }

  /** Resolves when a consumption on the instance was acknowledged in this process, with the time of that. */
  untilInService(instance: number): Promise<number> {
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

  /** Resolves when no transaction is under way in the process. It continues when it is sent `work`. */
  async quiesce(): Promise<void> {
    this.child.send('quiesce');
    await this.until((message) => (message.type === 'quiesced' ? true : undefined));
  }

  async leave(): Promise<void> {
    this.child.send('leave');
    await this.untilEnded();
  }
}
