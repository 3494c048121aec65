/**
 * Two or three processes that each serve an instance of a folder, with loads whose messages move between them: one that
 * gives is killed, one that is given, or all at once, and what a process does may be another thing each time it starts. After
 * some of the kills all of them end, and what the folder holds is compared with what is known.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { actorNamed } from '../actors/index.ts';
import { Ledger } from '../ledger.ts';
import { Life } from '../life.ts';
import type { Random } from '../random.ts';
import type { Role } from '../task.ts';
import { inspectFolder } from './inspect-folder.ts';
import { noteAll, type Stage, type StageOptions } from './stage.ts';

const killsPerFolder = 24;
const actorsAtOnce = 2;
const killWithinMs = 400;
const roles: readonly Role[] = ['puts', 'takes'];

export const forwardingStage: Stage = {
  name: 'forwarding',
  plays: (actorName) => actorNamed(actorName).forwards === true,
  run: (options) => new ForwardingFolder(options).run(),
};

interface Host {
  life: Life;
  role: Role;
}

class ForwardingFolder {
  readonly #options: StageOptions;
  readonly #random: Random;
  readonly #instances: readonly number[];
  /** All processes work on the same queues, else nobody would take what one puts in. */
  readonly #actors: string[];
  readonly #ledger = new Ledger({ sharedOrder: true });
  readonly #hosts = new Map<number, Host>();
  #lives: { life: Life; name: string }[] = [];
  #started = 0;
  #kills = 0;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#random = options.random.fork();
    this.#instances = this.#random.chance(0.5) ? [1, 2] : [1, 2, 3];
    this.#actors = this.#random.some(options.actorNames, actorsAtOnce);
  }

  async run(): Promise<void> {
    while (this.#kills < killsPerFolder && !this.#options.isDone()) {
      if (!(await this.#startMissing())) break;
      await pause(this.#random.next() * killWithinMs);
      await this.#killSome();
      if (this.#random.chance(0.3)) await this.#check();
    }
    await this.#check();
  }

  /** Resolves with whether all of them are at work. */
  async #startMissing(): Promise<boolean> {
    for (const instance of this.#instances) {
      if (this.#hosts.has(instance)) continue;
      const role = this.#roleFor(instance);
      this.#hosts.set(instance, { life: this.#start(instance, role), role });
    }
    const working = await Promise.all([...this.#hosts.values()].map(({ life }) => life.untilWorking()));
    if (!working.includes(false)) return true;
    this.#ledger.failed(`${this.#options.dir}: a process ended by itself, or hung`);
    return false;
  }

  /** Somebody always puts in, and somebody else takes out. */
  #roleFor(instance: number): Role {
    const others = [...this.#hosts.values()].map(({ role }) => role);
    const isLast = this.#hosts.size === this.#instances.length - 1;
    const open = isLast ? roles.filter((role) => !others.every((other) => other === role)) : roles;
    const usual: Role = instance % 2 === 1 ? 'puts' : 'takes';
    return open.includes(usual) && this.#random.chance(0.6) ? usual : this.#random.pick(open);
  }

  #start(instance: number, role: Role): Life {
    const name = `${instance}f${this.#started}`;
    this.#started += 1;
    const { dir } = this.#options;
    const seed = this.#random.below(2 ** 31);
    const life = new Life({ dir, instance, role, life: name, seed, actors: this.#actors });
    this.#lives.push({ life, name });
    return life;
  }

  async #killSome(): Promise<void> {
    const hosts = [...this.#hosts];
    const [victims, phase] = this.#random.chance(0.3)
      ? [hosts, 'forwarding: all at once']
      : this.#pickOne(hosts);
    await Promise.all(victims.map(([, { life }]) => life.kill()));
    for (const [instance] of victims) {
      this.#hosts.delete(instance);
      this.#kills += 1;
      this.#options.onKill(phase);
    }
  }

  #pickOne(hosts: readonly [number, Host][]): [[number, Host][], string] {
    const victim = this.#random.pick(hosts);
    return [[victim], victim[1].role === 'puts' ? 'forwarding: who gives' : 'forwarding: who is given'];
  }

  async #check(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map(({ life }) => life.kill()));
    this.#hosts.clear();
    noteAll(this.#ledger, this.#lives);
    this.#lives = [];
    const { dir, onChecked } = this.#options;
    await inspectFolder({ dir, instances: this.#instances.length, actors: this.#actors }, this.#ledger);
    onChecked(this.#ledger.takeTotals());
  }
}
