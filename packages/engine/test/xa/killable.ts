/** A process of a distributed transaction (`point-process.ts`) that a test stops at a point, kills and starts again. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import type { FromPointProcess, ToPointProcess } from './point-process.ts';
import { numberOf, type Point, type Role } from './points.ts';
import type { TransactionWork } from './transact.ts';

export class Killable {
  readonly #dir: string;
  readonly #role: Role;
  readonly #reached: 'own' | 'other';
  #child: ChildProcess | undefined;

  /** `reached` tells whether a coordinator calls the instance of a branch or the other one, which passes the calls on. */
  constructor(dir: string, role: Role, reached: 'own' | 'other') {
    this.#dir = dir;
    this.#role = role;
    this.#reached = reached;
  }

  start(): Promise<unknown> {
    return this.launch([]).serving;
  }

  /** Starts the process, which stops at the first of these points that it reaches, in its recovery or later. */
  launch(points: readonly Point[]): { serving: Promise<unknown>; stopped: Promise<unknown> } {
    const args = [this.#dir, String(numberOf[this.#role]), this.#reached, ...points];
    const child = fork(new URL('./point-process.ts', import.meta.url), args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    this.#child = child;
    return { serving: this.#receive('serving'), stopped: once(this.#channel, 'data') };
  }

  /** Resolves with the next message of the type. Rejects if the process ends before. */
  #receive<T extends FromPointProcess['type']>(type: T): Promise<FromPointProcess & { type: T }> {
    const child = this.#child!;
    return new Promise((resolve, reject) => {
      const onMessage = (message: FromPointProcess) => {
        if (message.type !== type) return;
        child.off('message', onMessage).off('exit', onExit);
        resolve(message as FromPointProcess & { type: T });
      };
      const onExit = () => reject(new Error(`The process of ${this.#role} has ended`));
      child.on('message', onMessage).on('exit', onExit);
    });
  }

  #send(message: ToPointProcess): void {
    this.#child!.send(message);
  }

  get #channel(): Duplex {
    return this.#child!.stdio[4] as Duplex;
  }

  /** Lets the process stop at the first of these points that it reaches. Resolves once it is armed, with a promise for the stop. */
  async arm(points: readonly Point[]): Promise<{ stopped: Promise<unknown> }> {
    const stopped = once(this.#channel, 'data');
    const armed = this.#receive('armed');
    this.#send({ type: 'arm', points });
    await armed;
    return { stopped };
  }

  resume(): void {
    this.#channel.write('.');
  }

  async kill(): Promise<void> {
    const child = this.#child!;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    expect((await ended)[1]).toBe('SIGKILL');
  }

  /** Lets the coordinator run a transaction. Resolves with the outcome that its application gets, or `unknown` if it is killed before. */
  async transact(work: TransactionWork): Promise<string> {
    const told = this.#receive('told').then(
      ({ how }) => how,
      () => 'unknown',
    );
    this.#send({ type: 'transact', work });
    return told;
  }
}
