/** Where the sessions of a trial are: in the instance's process, or over connections to a process that serves it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type * as Engine from '@shardlab/engine';
import { readKernelCounters } from '../surroundings/kernel-counters.ts';

/** Readings of a placement since its processes began: what all of them used together, and the instance's own statistics. */
export interface Reading {
  cpuUs: number;
  /** Bytes passed to the kernel by writes, and those that it counted as bound for a disk. 0 on other systems than Linux. */
  writtenBytes: number;
  diskBytes: number;
  /** Voluntary context switches: how often a thread went to sleep. 0 on other systems than Linux. */
  sleeps: number;
  stats: Engine.InstanceStats;
}

export interface Placement {
  openSession(options?: Engine.ClientSessionOptions): Engine.Session;
  read(): Promise<Reading>;
  close(): Promise<void>;
}

/** No sample of statistics is written while a trial lasts: each is a group, and groups are counted. */
const sampleIntervalMs = 60_000;

const totalUs = ({ user, system }: NodeJS.CpuUsage) => user + system;

export async function embedded(
  { openInstance }: typeof Engine,
  options: { dir: string; kind: Engine.QueueKind; subscribers: number },
): Promise<Placement> {
  const instance = await openInstance({ dir: options.dir, sampleIntervalMs });
  const { kind, subscribers } = options;
  await instance.createQueue({ name: 'q', kind, type: subscribers > 0 ? 'topic' : 'queue' });
  for (let i = 0; i < subscribers; i += 1) await instance.subscribe('q', { name: `s${i}` });
  return {
    openSession: () => instance.openSession(),
    read: async () => ({
      cpuUs: totalUs(process.cpuUsage()),
      ...writesOf([process.pid]),
      stats: instance.stats(),
    }),
    close: () => instance.close(),
  };
}

/** Serves the instance in another process. Sessions are spread over the connections in turn. */
export async function remote(
  { connect }: typeof Engine,
  options: { dir: string; kind: Engine.QueueKind; connections: number; checkout: string },
): Promise<Placement> {
  const { dir, kind, connections, checkout } = options;
  const host = fork(new URL('./serving-host.ts', import.meta.url), [checkout, dir, kind]);
  await once(host, 'message');
  const clients = await Promise.all(Array.from({ length: connections }, () => connect({ dir })));
  let turn = 0;
  return {
    openSession: (options) => {
      turn += 1;
      return clients[turn % connections]!.openSession(options);
    },
    read: async () => {
      const stats = await clients[0]!.stats();
      const cpuUs = totalUs(process.cpuUsage()) + (await cpuUsOf(host));
      return { cpuUs, ...writesOf([process.pid, host.pid!]), stats };
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      host.send('close');
      await once(host, 'exit');
    },
  };
}

function writesOf(pids: readonly number[]): Pick<Reading, 'writtenBytes' | 'diskBytes' | 'sleeps'> {
  const counted = readKernelCounters(pids, 0);
  return {
    writtenBytes: counted?.writtenBytes ?? 0,
    diskBytes: counted?.diskBytes ?? 0,
    sleeps: counted?.blocks ?? 0,
  };
}

async function cpuUsOf(host: ChildProcess): Promise<number> {
  host.send('cpu');
  const [usage] = (await once(host, 'message')) as [NodeJS.CpuUsage];
  return totalUs(usage);
}
