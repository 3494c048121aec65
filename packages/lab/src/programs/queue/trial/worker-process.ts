/** The coordinator's end of one instance process. */
import { fileURLToPath } from 'node:url';
import type { LabError } from '../../../errors/errors.ts';
import { ChildChannel, workerFailed } from '../../../trial/child-channel.ts';
import type { FromWorker, ToWorker, WorkerConfig } from './protocol.ts';

const workerFile = fileURLToPath(new URL('./instance-worker.ts', import.meta.url));

type Tick = Extract<FromWorker, { type: 'tick' }>;

export interface WorkerListener {
  onTick?(tick: Tick): void;
  /** See the message `backlog`. */
  onBacklog(messages: number): void;
}

/** If the process fails, all calls that wait for its messages reject with `WORKER_FAILED`. */
export class WorkerProcess extends ChildChannel<FromWorker, ToWorker> {
  readonly instance: number;
  readonly #listener: WorkerListener;

  constructor(instance: number, listener: WorkerListener) {
    super(workerFile);
    this.instance = instance;
    this.#listener = listener;
  }

  protected handles(message: FromWorker): boolean {
    if (message.type === 'tick') this.#listener.onTick?.(message);
    else if (message.type === 'backlog') this.#listener.onBacklog(message.messages);
    else if (message.type === 'failed') {
      const { code, message: sentence, details, stack } = message;
      this.fail(`failed: ${sentence}`, { code, message: sentence, details, stack });
    } else return false;
    return true;
  }

  protected errorOf(what: string, stderr: string, cause: unknown): LabError {
    const { instance } = this;
    return workerFailed(`The process of instance ${instance}`, { what, stderr, cause }, { instance });
  }
}

/** Opens the instances. The first one creates catalog and queues, so that the others find both when they open. */
export async function openAll(processes: readonly (readonly [WorkerProcess, WorkerConfig])[]): Promise<void> {
  const open = async ([worker, config]: readonly [WorkerProcess, WorkerConfig]) => {
    worker.send({ type: 'open', config });
    await worker.receive('opened');
  };
  const [first, ...others] = processes;
  await open(first!);
  await Promise.all(others.map(open));
}
