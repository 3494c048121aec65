/**
 * One or two processes that each host an instance of a folder, killed and restarted. After some of the kills all
 * processes are ended and the contents of the folder are added to the history, which is judged.
 */

import { FolderHistory } from '../processes/folder-history.ts';
import { type Kill, kills } from '../processes/kills.ts';
import { Draws, type Random } from '../processes/random.ts';
import { TortureProcess } from '../processes/torture-process.ts';
import type { WorkerTask } from '../processes/worker-task.ts';
import { workloadNamed } from '../workloads/index.ts';
import { inspectFolder } from './inspect-folder.ts';
import type { SetupOptions, TortureSetup } from './setup.ts';

/** Kills in one folder before the next folder is used, so that files of different ages are tested. */
const killsPerFolder = 30;
const workloadsAtOnce = 3;

export const instancesSetup: TortureSetup = {
  name: 'instances',
  // These processes are not connected with each other.
  supports: (workloadName) => workloadNamed(workloadName).forwards !== true,
  run: (options) => new InstancesTorture(options).run(),
};

class InstancesTorture {
  readonly #dir: string;
  readonly #options: SetupOptions;
  readonly #random: Random;
  readonly #kills: Draws<Kill>;
  readonly #instances: number;
  readonly #history = new FolderHistory();
  /** The live process of each instance. */
  readonly #hosts = new Map<number, TortureProcess>();
  /** All processes since the last inspection. */
  #processes: { process: TortureProcess; name: string }[] = [];
  #started = 0;
  readonly #workloadsUsed = new Set<string>();

  constructor(options: SetupOptions) {
    this.#dir = options.dir;
    this.#options = options;
    this.#random = options.random.fork();
    this.#kills = new Draws(kills, this.#random);
    this.#instances = this.#random.chance(0.3) ? 2 : 1;
  }

  async run(): Promise<void> {
    for (let kill = 0; kill < killsPerFolder && !this.#options.isDone(); kill += 1) {
      await this.#killOne(this.#kills.next());
      if (this.#random.chance(0.5)) await this.#check();
    }
    await this.#check();
  }

  async #killOne(kill: Kill): Promise<void> {
    const instance = 1 + this.#random.below(this.#instances);
    // Self-kills are passed at the start of a process, and kills during startup need a new process too.
    const needsStart = kill.selfKill !== undefined || kill.countedFrom !== 'working';
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
      this.#history.recordFailure(`${this.#dir}: a process ended unexpectedly or hung (${kill.phase})`);
  }

  async #startOthers(victim: number): Promise<void> {
    for (let instance = 1; instance <= this.#instances; instance += 1) {
      if (instance === victim || this.#hosts.has(instance)) continue;
      const process = this.#start(instance, undefined);
      this.#hosts.set(instance, process);
      await process.waitUntilWorking();
    }
  }

  #start(instance: number, kill: Kill | undefined): TortureProcess {
    const chosen = this.#random.pickSeveral(this.#options.workloadNames, workloadsAtOnce);
    for (const name of chosen) this.#workloadsUsed.add(name);
    const name = `${instance}x${this.#started}`;
    this.#started += 1;
    const selfKill = kill?.selfKill?.(this.#random);
    const task: WorkerTask = {
      dir: this.#dir,
      instance,
      processName: name,
      seed: this.#random.below(2 ** 31),
      workloads: chosen,
      ...(selfKill === undefined ? {} : { selfKill }),
    };
    const process = new TortureProcess(task);
    this.#processes.push({ process, name });
    return process;
  }

  async #check(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((process) => process.kill()));
    this.#hosts.clear();
    for (const { process, name } of this.#processes) this.#history.addProcess(process, name);
    this.#processes = [];
    const folder = { dir: this.#dir, instances: this.#instances, workloads: this.#workloadsUsed };
    await inspectFolder(folder, this.#history);
    this.#options.onChecked(this.#history.takeTotals());
  }
}
