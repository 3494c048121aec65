/**
 * One data folder after the other, each with one or two processes that are killed and started again. After some of the
 * kills all processes end, and what the folder holds is compared with what is known.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openInstance } from '@shardlab/engine';
import { actorNamed, actors } from './actors/index.ts';
import { type Kill, pickKill } from './kills.ts';
import { Ledger, type LedgerTotals } from './ledger.ts';
import { Life } from './life.ts';
import type { Delivered } from './notes.ts';
import type { Random } from './random.ts';
import { partitionMessagesMax, type WorkerTask } from './task.ts';

export interface LaneOptions {
  /** Folders are made in it. */
  parent: string;
  random: Random;
  /** Names of the loads to choose from; all of them by default. */
  actorNames?: readonly string[];
  onKill(phase: string): void;
  /** After each look into a folder: what was done since the one before, and what was wrong. */
  onChecked(totals: LedgerTotals): void;
  isDone(): boolean;
}

/** Kills in one folder before the next one is taken: files age, but not for ever. */
const killsPerFolder = 30;
const actorsAtOnce = 3;

export async function runLane(options: LaneOptions): Promise<void> {
  while (!options.isDone()) {
    const dir = mkdtempSync(join(options.parent, 'torture-'));
    const folder = new Folder(dir, options);
    await folder.run();
    if (!folder.isFaulty) rmSync(dir, { recursive: true, force: true });
  }
}

class Folder {
  readonly #dir: string;
  readonly #options: LaneOptions;
  readonly #random: Random;
  readonly #instances: number;
  readonly #ledger: Ledger;
  /** The process that hosts each instance, if it is alive. */
  readonly #hosts = new Map<number, Life>();
  /** All processes since the last look. */
  #lives: { life: Life; name: string }[] = [];
  #started = 0;
  readonly #actorsUsed = new Set<string>();

  constructor(dir: string, options: LaneOptions) {
    this.#dir = dir;
    this.#options = options;
    this.#random = options.random.fork();
    this.#instances = this.#random.chance(0.3) ? 2 : 1;
    this.#ledger = new Ledger({ sharedOrder: this.#instances === 1 });
  }

  /** Then it is kept, to be looked into. */
  isFaulty = false;

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
    const { actorNames = actors.map(({ name }) => name) } = this.#options;
    const chosen = this.#random.some(actorNames, actorsAtOnce);
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
    const notes = this.#lives.flatMap(({ life, name }) => life.notes().map((note) => ({ ...note, name })));
    this.#lives = [];
    notes.sort((a, b) => (a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0));
    for (const { note, name } of notes) this.#ledger.take(note, name);
    try {
      this.#ledger.check(await this.#inspect());
    } catch (error) {
      this.#ledger.failed(`${this.#dir} cannot be looked into: ${(error as Error).stack ?? String(error)}`);
    }
    const totals = this.#ledger.takeTotals();
    this.isFaulty ||= Object.values<string[]>({ ...totals.faults }).some((each) => each.length > 0);
    this.#options.onChecked(totals);
  }

  async #inspect(): Promise<Delivered[]> {
    const found: Delivered[] = [];
    for (let id = 1; id <= this.#instances; id += 1) {
      const instance = await openInstance({ dir: this.#dir, instance: id, partitionMessagesMax });
      try {
        for (const name of this.#actorsUsed) {
          const actor = actorNamed(name);
          if (id === 1 || actor.shared !== true) found.push(...(await actor.inspect(instance)));
        }
      } finally {
        await instance.close();
      }
    }
    return found;
  }
}
