/**
 * A service with simulated processes, disk and time. Processes hang, resume, are killed, are closed and are falsely taken for dead, and
 * the wall clock is set, all drawn from a seed. The part of a process that hosts the service is the engine's own code. The simulated
 * file compares the epoch of each write with that of its last opening, as the real one does.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { ServiceSession, ServiceSpec, SingletonService } from '../../src/api/service.ts';
import type { ServiceStateRow, ServiceTenureRow } from '../../src/model/service-rows.ts';
import { ServiceHost } from '../../src/singletons/service-host.ts';
import type { ServiceState } from '../../src/singletons/service-instance.ts';
import { Chance, drainPromises, Scheduler, SimulatedPorts } from '../simulator/scheduler.ts';

const spec: ServiceSpec = { name: 'writer', module: 'simulated' };

/** The part of an instance's file that services use. */
class SimulatedFile {
  epoch = 0;
  state: ServiceStateRow | undefined;
  readonly tenures: ServiceTenureRow[] = [];
  readonly written: { epoch: number; number: number }[] = [];
  /** False plants a bug: replaced processes may continue to write. */
  readonly comparesEpochs: boolean;

  constructor(comparesEpochs: boolean) {
    this.comparesEpochs = comparesEpochs;
  }

  open(): number {
    this.epoch += 1;
    return this.epoch;
  }

  assertEpoch(epoch: number): void {
    if (this.comparesEpochs && epoch !== this.epoch) throw new QueueError('INSTANCE_FENCED');
  }
}

/** Writes numbers for as long as it can, and ignores its deactivation. */
class Writer implements SingletonService {
  readonly #of: SimulatedProcess;

  constructor(of: SimulatedProcess) {
    this.#of = of;
  }

  activate(context: Parameters<SingletonService['activate']>[0]): void {
    void this.#write(context).catch((error: unknown) => this.#of.onRefused(error));
  }

  deactivate(): void {}

  async #write(context: Parameters<SingletonService['activate']>[0]): Promise<void> {
    const session = context.openSession();
    for (;;) {
      const { number } = (context.state as { number: number } | undefined) ?? { number: 0 };
      session.writeState({ number: number + 1 });
      await session.commit();
      await this.#of.pause(3);
    }
  }
}

class SimulatedProcess {
  readonly epoch: number;
  readonly host: ServiceHost;
  isFrozen = false;
  isEnded = false;
  readonly #cluster: SimulatedCluster;
  readonly #ports: SimulatedPorts;
  readonly #resumed: (() => void)[] = [];
  #closed = false;

  constructor(cluster: SimulatedCluster, pid: number) {
    const { file } = cluster;
    this.#cluster = cluster;
    this.#ports = new SimulatedPorts(cluster.scheduler, cluster.chance);
    this.epoch = file.open();
    this.host = new ServiceHost({
      of: {
        instance: 1,
        epoch: this.epoch,
        holder: { pid, instance: pid },
        openSession: (state) => this.#session(state),
        writeTenure: (row) => this.#commit(() => void file.tenures.push(row)),
        assertServing: () => undefined,
      },
      specs: [spec],
      recovered: { states: file.state === undefined ? [] : [file.state], tenures: [...file.tenures] },
      load: async () => new Writer(this),
      ports: this.#ports,
    });
  }

  /** Runs a callback after `ms`; if the process is frozen then, when it resumes. */
  #later(ms: number, run: () => void): void {
    this.#ports.after(ms, () => {
      if (this.isFrozen) this.#resumed.push(run);
      else run();
    });
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#later(ms, resolve));
  }

  /** Commits even if the process hangs meanwhile, like a write that a thread has already begun. */
  #commit(apply: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new QueueError('INSTANCE_CLOSED'));
      this.#ports.after(this.#cluster.chance.between(0, 20), () => {
        try {
          this.#cluster.file.assertEpoch(this.epoch);
          apply();
          this.#later(0, resolve);
        } catch (error) {
          this.#later(0, () => reject(error));
        }
      });
    });
  }

  #session(state: ServiceState): ServiceSession {
    let staged: { number: number } | undefined;
    const session: Partial<ServiceSession> = {
      writeState: (value) => {
        staged = value as unknown as { number: number };
      },
      commit: async () => {
        const { number } = staged!;
        const row = { name: state.name, epoch: this.epoch, state: JSON.stringify({ number }) };
        await this.#commit(() => {
          this.#cluster.file.state = row;
          this.#cluster.file.written.push({ epoch: this.epoch, number });
        });
        state.text = row.state;
        this.#cluster.acknowledged.push({ epoch: this.epoch, number });
        return { ids: [], results: [], replayed: false };
      },
    };
    return session as ServiceSession;
  }

  onRefused(error: unknown): void {
    if (error instanceof QueueError && error.code === 'INSTANCE_FENCED') this.#cluster.refused += 1;
  }

  wake(): void {
    this.isFrozen = false;
    for (const run of this.#resumed.splice(0)) run();
  }

  kill(): void {
    this.isEnded = true;
    this.#ports.end();
  }

  async close(): Promise<void> {
    await this.host.stop();
    this.#closed = true;
    this.kill();
  }
}

export class SimulatedCluster {
  readonly scheduler = new Scheduler();
  readonly chance: Chance;
  readonly file: SimulatedFile;
  readonly acknowledged: { epoch: number; number: number }[] = [];
  /** Number of refused writes of replaced processes. */
  refused = 0;
  replacements = 0;
  /** All processes, the newest last. Earlier ones may still run. */
  readonly #processes: SimulatedProcess[] = [];

  constructor(seed: number, { comparesEpochs = true } = {}) {
    this.chance = new Chance(seed);
    this.file = new SimulatedFile(comparesEpochs);
  }

  async #run(ms: number): Promise<void> {
    const untilMs = this.scheduler.nowMs + ms;
    await drainPromises();
    while (this.scheduler.runNext(untilMs)) await drainPromises();
    this.scheduler.moveTo(untilMs);
  }

  #takeOver(): void {
    const next = new SimulatedProcess(this, this.#processes.length + 1);
    this.#processes.push(next);
    this.replacements += 1;
    next.host.start();
  }

  /** Lets one fault and its consequences happen. Returns the name of the fault. */
  async fault(): Promise<string> {
    const { chance } = this;
    const holder = this.#processes.at(-1)!;
    const fault = chance.pick([
      'kill',
      'hang',
      'wrongly dead',
      'stop',
      'wall clock',
      'woken in time',
    ] as const);
    if (fault === 'kill') holder.kill();
    if (fault === 'hang' || fault === 'woken in time') holder.isFrozen = true;
    if (fault === 'wall clock') this.scheduler.setWallClock(chance.between(-1, 1) * 86_400_000);
    if (fault === 'stop') {
      const closing = holder.close();
      await this.#run(chance.between(0, 4_000));
      void closing;
    }
    await this.#run(chance.between(0, 1_500));
    if (fault === 'woken in time') holder.wake();
    else if (fault !== 'wall clock') this.#takeOver();
    await this.#run(chance.between(0, 200));
    for (const process of this.#processes) if (chance.percent(50)) process.wake();
    await this.#run(chance.between(20, 500));
    return fault;
  }

  async begin(): Promise<void> {
    this.#takeOver();
    await this.#run(200);
  }

  /** Resumes all processes and lets them do their pending work. */
  async end(): Promise<void> {
    for (const process of this.#processes) process.wake();
    await this.#run(500);
    for (const process of this.#processes) process.kill();
  }
}
