/**
 * A private cluster of NATS servers on the loopback interface, for tests and the lab. It ends with this process. All routes
 * go through proxies, so that a server can be cut off from the others while its clients still reach it.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { LossyDisk } from './lossy-disk/lossy-disk.ts';
import { freePorts, NatsProcess } from './nats-process.ts';
import { RouteProxy } from './route-proxy.ts';

export interface NatsClusterOptions {
  /** Path of the server: see `findServer`. */
  program: string;
  /** One server has no routes. */
  servers: 1 | 3 | 5;
  /** `always`: synced before it is acknowledged. Default: every two minutes, as a server does by default. */
  sync?: 'always' | 'interval';
  /** Lines added to the configuration of each server. */
  configuration?: string;
  /**
   * Each server stores its messages on a disk in memory that loses at `cutPower` all bytes that were not synced.
   * `missingForLossyDisks` reports what the machine lacks for that.
   */
  losesUnsynced?: boolean;
  /** Folder for its data. Default: a temporary one, deleted by `stop`. */
  dir?: string;
}

const placeableMsMax = 30_000;

interface Route {
  from: number;
  to: number;
  proxy: RouteProxy;
}

export class NatsCluster {
  /** URLs for clients, one for each server. */
  readonly urls: readonly string[];
  readonly #servers: readonly NatsProcess[];
  readonly #routes: readonly Route[];
  readonly #temporary: string | undefined;
  readonly #cutOff = new Set<number>();

  private constructor(
    urls: string[],
    servers: NatsProcess[],
    routes: Route[],
    temporary: string | undefined,
  ) {
    this.urls = urls;
    this.#servers = servers;
    this.#routes = routes;
    this.#temporary = temporary;
  }

  /** Resolves when all servers are ready. */
  static async start(options: NatsClusterOptions): Promise<NatsCluster> {
    const { program, servers: count } = options;
    const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'shardlab-nats-'));
    const numbers = Array.from({ length: count }, (_, number) => number);
    const ports = await freePorts(3 * count);
    const [client, route, monitor] = [0, 1, 2].map((kind) =>
      ports.slice(kind * count, (kind + 1) * count),
    ) as [number[], number[], number[]];
    const routes: Route[] = [];
    for (const from of numbers) {
      for (const to of numbers) {
        if (from !== to) routes.push({ from, to, proxy: await RouteProxy.open(() => route[to]!) });
      }
    }
    const processes = numbers.map((number) => {
      const own = join(dir, `server-${number + 1}`);
      const folder = join(own, 'data');
      mkdirSync(folder, { recursive: true });
      const configuration = configurationOf(options, {
        name: `server-${number + 1}`,
        folder,
        clientPort: client[number]!,
        routePort: route[number]!,
        monitorPort: monitor[number]!,
        routes: routes.filter(({ from }) => from === number).map(({ proxy }) => proxy.port),
      });
      const disk = options.losesUnsynced === true ? { disk: { disk: new LossyDisk(), folder } } : {};
      return new NatsProcess({ program, dir: own, configuration, monitorPort: monitor[number]!, ...disk });
    });
    const urls = client.map((port) => `nats://127.0.0.1:${port}`);
    const cluster = new NatsCluster(urls, processes, routes, options.dir === undefined ? dir : undefined);
    try {
      await Promise.all(processes.map((server) => server.start()));
      if (count > 1) await untilPlaceable(urls[0]!, count);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get pids(): number[] {
    return this.#servers.flatMap(({ pid }) => pid ?? []);
  }

  /** Servers are numbered from 0. */
  kill(server: number): Promise<void> {
    return this.#servers[server]!.kill();
  }

  /** Like `kill`, and the server's disk keeps only synced bytes. Needs `losesUnsynced`. */
  cutPower(server: number): Promise<void> {
    return this.#servers[server]!.cutPower();
  }

  /** All that any server has written so far survives a power cut. */
  writeBack(): void {
    for (const server of this.#servers) server.writeBack();
  }

  /** Resolves when the server is ready again. */
  restart(server: number): Promise<void> {
    return this.#servers[server]!.start();
  }

  pause(server: number): void {
    this.#servers[server]!.pause();
  }

  resume(server: number): void {
    this.#servers[server]!.resume();
  }

  /** Cuts a server off from the others. Clients reach it as before. */
  partition(server: number): void {
    this.#cutOff.add(server);
    this.#cutRoutes();
  }

  /** Reconnects a server with those that are not cut off; without a number, all servers. */
  heal(server?: number): void {
    if (server === undefined) this.#cutOff.clear();
    else this.#cutOff.delete(server);
    this.#cutRoutes();
  }

  #cutRoutes(): void {
    for (const { from, to, proxy } of this.#routes) {
      if (this.#cutOff.has(from) || this.#cutOff.has(to)) proxy.cut();
      else proxy.heal();
    }
  }

  isHealthy(server: number): Promise<boolean> {
    return this.#servers[server]!.isHealthy();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    await Promise.all(this.#routes.map(({ proxy }) => proxy.close()));
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }
}

/**
 * The leader of the cluster places no queue on servers whose room it has not heard of yet, though these are ready and
 * reached. Only a stream that is placed shows that it has.
 */
async function untilPlaceable(url: string, servers: number): Promise<void> {
  const connection = await connect({ servers: url, name: 'shardlab', reconnect: false });
  const until = performance.now() + placeableMsMax;
  const [name, storage] = ['probe', StorageType.Memory];
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    while (true) {
      try {
        await manager.streams.add({ name, subjects: [`shardlab-${name}`], storage, num_replicas: servers });
        await manager.streams.delete(name);
        return;
      } catch (error) {
        if (performance.now() > until)
          throw new Error('The NATS servers did not find each other', { cause: error });
        await pause(50);
      }
    }
  } finally {
    await connection.close();
  }
}

interface ServerPlace {
  name: string;
  /** Folder of its messages. */
  folder: string;
  clientPort: number;
  routePort: number;
  monitorPort: number;
  /** Ports of the proxies to the other servers. */
  routes: number[];
}

function configurationOf({ sync, configuration = '' }: NatsClusterOptions, place: ServerPlace): string {
  const lines = [
    `server_name: ${place.name}`,
    'host: 127.0.0.1',
    `port: ${place.clientPort}`,
    `http: 127.0.0.1:${place.monitorPort}`,
    // A payload of the largest size and its headers.
    'max_payload: 2MB',
    `jetstream { store_dir: ${JSON.stringify(place.folder)}${sync === 'always' ? ', sync_interval: always' : ''} }`,
  ];
  if (place.routes.length > 0) {
    const routes = place.routes.map((port) => `"nats-route://127.0.0.1:${port}"`).join(', ');
    // Servers send each other addresses for further routes: an address without a listener keeps all routes in the proxies.
    const cluster = `name: shardlab, listen: "127.0.0.1:${place.routePort}", advertise: "127.0.0.1:1", no_advertise: true`;
    lines.push(`cluster { ${cluster}, pool_size: -1, routes: [${routes}] }`);
  }
  return `${[...lines, configuration].join('\n')}\n`;
}
