/** Starts and stops loads, one at a time; keeps the latest. */
import { loadLimits, type ClusterLoad as Report, type StartLoad } from '@shardlab/contract';
import { ServerError } from '../errors.ts';
import { ClusterLoad, type LoadedCluster } from './cluster-load.ts';

export class LoadService {
  readonly #cluster: LoadedCluster;
  #load: ClusterLoad | undefined;
  #starting = false;
  #closed = false;

  constructor(cluster: LoadedCluster) {
    this.#cluster = cluster;
  }

  /** The latest load; null before the first. */
  get load(): ClusterLoad | null {
    return this.#load ?? null;
  }

  /** Throws `LOAD_RUNNING`, `SERVER_CLOSING`, and what creating its queue throws. */
  async start(options: StartLoad): Promise<Report> {
    if (this.#closed) throw new ServerError('SERVER_CLOSING');
    if (this.#starting || this.#load?.isOver === false) throw new ServerError('LOAD_RUNNING');
    this.#starting = true;
    try {
      const { durationMs = loadLimits.durationMsDefault, ratePerSec = loadLimits.ratePerSecDefault } =
        options;
      this.#load = await ClusterLoad.start({ cluster: this.#cluster, durationMs, ratePerSec });
    } finally {
      this.#starting = false;
    }
    if (this.#closed) await this.#load.close();
    return this.#load.report();
  }

  stop(): void {
    this.#load?.stop();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#load?.close();
  }
}
