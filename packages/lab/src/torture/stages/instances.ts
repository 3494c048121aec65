/**
 * One or two processes that each host an instance of a folder, killed and started again. After some of the kills all of
 * them end, and what the folder holds is compared with what is known.
 */
import { actorNamed } from '../actors/index.ts';
import { type Kill, pickKill } from '../kills.ts';
import { Ledger } from '../ledger.ts';
import { Life } from '../life.ts';
import type { Random } from '../random.ts';
import type { WorkerTask } from '../task.ts';
import { inspectFolder } from './inspect-folder.ts';
import { noteAll, type Stage, type StageOptions } from './stage.ts';

/** Kills in one folder before the next one is taken: files age, but not for ever. */
const killsPerFolder = 30;
const actorsAtOnce = 3;

export const instancesStage: Stage = {
  name: 'instances',
  // These processes know nothing of each other.
  plays: (actorName) => actorNamed(actorName).forwards !== true,
  run: (options) => new Folder(options).run(),
};

class Folder {
  readonly #dir: string;
  readonly #options: StageOptions;
  readonly #random: Random;
  readonly #instances: number;
  readonly #ledger: Ledger;
  /** The process that hosts each instance, if it is alive. */
  readonly #hosts = new Map<number, Life>();
  /** All processes since the last look. */
  #lives: { life: Life; name: string }[] = [];
  #started = 0;
  readonly #actorsUsed = new Set<string>();

  constructor(options: StageOptions) {
    this.#dir = options.dir;
    this.#options = options;
    this.#random = options.random.fork();
    this.#instances = this.#random.chance(0.3) ? 2 : 1;
    this.#ledger = new Ledger({ sharedOrder: this.#instances === 1 });
  }

  async run(): Promise<void> {
    for (let kill = 0; kill < killsPerFolder && !this.#options.isDone(); kill += 1) {
      await this.#killOne(pickKill(this.#random));
      if (this.#random.chance(0.5)) await this.#check();
    }
    await this.#check();
  }

  async #killOne(kill: Kill): Promise<void> {
    const instance = 1 + this.#random.below(this.#instances);
    // Who is told to kill itself has to be told at its start; and a start can only be hit by starting anew.
    const needsStart = kill.selfKill !== undefined || kill.from !== 'working';
    const running = this.#hosts.get(instance);
    if (running !== undefined && needsStart) {
      await running.kill();
      this.#options.onKill('at work');
    }
    await this.#startOthers(instance);
    const victim = running !== undefined && !needsStart ? running : this.#start(instance, kill);
    const killed = await victim.endBy(kill, this.#random.next() * (kill.withinMs ?? 0));
    this.#hosts.delete(instance);
    if (killed) this.#options.onKill(kill.phase);
    else if (victim.failed)
      this.#ledger.failed(`${this.#dir}: a process ended by itself, or hung (${kill.phase})`);
  }

  async #startOthers(victim: number): Promise<void> {
    for (let instance = 1; instance <= this.#instances; instance += 1) {
      if (instance === victim || this.#hosts.has(instance)) continue;
      const life = this.#start(instance, undefined);
      this.#hosts.set(instance, life);
      await life.untilWorking();
    }
  }

  #start(instance: number, kill: Kill | undefined): Life {
    const chosen = this.#random.some(this.#options.actorNames, actorsAtOnce);
    for (const name of chosen) this.#actorsUsed.add(name);
    const name = `${instance}x${this.#started}`;
    this.#started += 1;
    const selfKill = kill?.selfKill?.(this.#random);
    const task: WorkerTask = {
      dir: this.#dir,
      instance,
      life: name,
      seed: this.#random.below(2 ** 31),
      actors: chosen,
      ...(selfKill === undefined ? {} : { selfKill }),
    };
    const life = new Life(task);
    this.#lives.push({ life, name });
    return life;
  }

  async #check(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((life) => life.kill()));
    this.#hosts.clear();
    noteAll(this.#ledger, this.#lives);
    this.#lives = [];
    const folder = { dir: this.#dir, instances: this.#instances, actors: this.#actorsUsed };
    await inspectFolder(folder, this.#ledger);
    this.#options.onChecked(this.#ledger.takeTotals());
  }
}
