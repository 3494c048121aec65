/**
 * Two or three processes that each serve an instance of a folder, with workloads whose messages are forwarded between
 * them. A sender, a receiver or all are killed, and a process may change its role at each start. After some of the
 * kills all processes are ended and the contents of the folder are added to the history, which is judged.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { FolderHistory } from '../processes/folder-history.ts';
import { Draws, type Random } from '../processes/random.ts';
import { TortureProcess } from '../processes/torture-process.ts';
import type { Role } from '../processes/worker-task.ts';
import { workloadNamed } from '../workloads/index.ts';
import { inspectFolder } from './inspect-folder.ts';
import type { SetupOptions, TortureSetup } from './setup.ts';

const killsPerFolder = 24;
const workloadsAtOnce = 2;
const killWithinMs = 400;
const roles: readonly Role[] = ['enqueue', 'dequeue'];

export const forwardingSetup: TortureSetup = {
  name: 'forwarding',
  supports: (workloadName) => workloadNamed(workloadName).forwards === true,
  run: (options) => new ForwardingTorture(options).run(),
};

interface HostProcess {
  process: TortureProcess;
  role: Role;
}

/** `role`: one process that has it is killed; null: all are. */
const kills: readonly { role: Role | null; phase: string; weight: number }[] = [
  { role: null, phase: 'forwarding: all processes at once', weight: 6 },
  { role: 'enqueue', phase: 'forwarding: the sender', weight: 7 },
  { role: 'dequeue', phase: 'forwarding: the receiver', weight: 7 },
];

class ForwardingTorture {
  readonly #options: SetupOptions;
  readonly #random: Random;
  readonly #kills: Draws<(typeof kills)[number]>;
  readonly #instances: readonly number[];
  /** All processes use the same queues, because one must dequeue what another enqueues. */
  readonly #workloads: string[];
  readonly #history = new FolderHistory();
  readonly #hosts = new Map<number, HostProcess>();
  #processes: { process: TortureProcess; name: string }[] = [];
  #started = 0;
  #killed = 0;

  constructor(options: SetupOptions) {
    this.#options = options;
    this.#random = options.random.fork();
    this.#kills = new Draws(kills, this.#random);
    this.#instances = this.#random.chance(0.5) ? [1, 2] : [1, 2, 3];
    this.#workloads = this.#random.pickSeveral(options.workloadNames, workloadsAtOnce);
  }

  async run(): Promise<void> {
    while (this.#killed < killsPerFolder && !this.#options.isDone()) {
      if (!(await this.#startMissing())) break;
      await pause(this.#random.next() * killWithinMs);
      await this.#killSome();
      if (this.#random.chance(0.3)) await this.#check();
    }
    await this.#check();
  }

  /** Resolves with whether all processes are working. */
  async #startMissing(): Promise<boolean> {
    for (const instance of this.#instances) {
      if (this.#hosts.has(instance)) continue;
      const role = this.#roleFor(instance);
      this.#hosts.set(instance, { process: this.#start(instance, role), role });
    }
    const working = await Promise.all(
      [...this.#hosts.values()].map(({ process }) => process.waitUntilWorking()),
    );
    if (!working.includes(false)) return true;
    this.#history.recordFailure(`${this.#options.dir}: a process ended unexpectedly or hung`);
    return false;
  }

  /** There is always at least one process of each role. */
  #roleFor(instance: number): Role {
    const others = [...this.#hosts.values()].map(({ role }) => role);
    const isLast = this.#hosts.size === this.#instances.length - 1;
    const open = isLast ? roles.filter((role) => !others.every((other) => other === role)) : roles;
    const usual: Role = instance % 2 === 1 ? 'enqueue' : 'dequeue';
    return open.includes(usual) && this.#random.chance(0.6) ? usual : this.#random.pick(open);
  }

  #start(instance: number, role: Role): TortureProcess {
    const name = `${instance}f${this.#started}`;
    this.#started += 1;
    const { dir } = this.#options;
    const seed = this.#random.below(2 ** 31);
    const process = new TortureProcess({
      dir,
      instance,
      role,
      processName: name,
      seed,
      workloads: this.#workloads,
    });
    this.#processes.push({ process, name });
    return process;
  }

  async #killSome(): Promise<void> {
    const hosts = [...this.#hosts];
    const { role, phase } = this.#kills.next();
    const victims =
      role === null ? hosts : [this.#random.pick(hosts.filter(([, host]) => host.role === role))];
    await Promise.all(victims.map(([, { process }]) => process.kill()));
    for (const [instance] of victims) {
      this.#hosts.delete(instance);
      this.#killed += 1;
      this.#options.onKill(phase);
    }
  }

  async #check(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map(({ process }) => process.kill()));
    this.#hosts.clear();
    for (const { process, name } of this.#processes) this.#history.addProcess(process, name);
    this.#processes = [];
    const { dir, onChecked } = this.#options;
    await inspectFolder(
      { dir, instances: this.#instances.length, workloads: this.#workloads },
      this.#history,
    );
    onChecked(this.#history.takeTotals());
  }
}
