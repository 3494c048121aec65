/** The instances of a trial, as the client has them: in its own process, or served by others. */
import {
  type Counter,
  connect,
  type Instance,
  openInstance,
  type RemoteInstance,
  type ServedInstance,
  type Session,
  type SessionTime,
  type SessionTimes,
  serveInstance,
  type WaitEvent,
  WaitRecorder,
  type WaitStats,
} from '@shardlab/engine';
import { serverCall } from '../../meters/load-waits.ts';
import { addTimes } from '../../meters/session-times.ts';
import { mergeWaits } from '../../meters/wait-totals.ts';
import { emulationOf } from './emulation.ts';
import { folderOf } from './folders.ts';
import type { XaJob } from './xa-job.ts';

export interface XaInstances {
  readonly all: readonly (Instance | RemoteInstance)[];
  /** The wait event of a session during its calls; undefined if the instance records the waits itself. */
  readonly eventOfCalls: WaitEvent | undefined;
  timeOf(session: Session): SessionTime;
  /** Wait events of the instances and of the client. */
  waits(): Promise<WaitStats[]>;
  times(): SessionTimes;
  /** A counter of the engine, summed over all instances. */
  counted(counter: Counter): Promise<number>;
  close(): Promise<void>;
}

const numbersOf = ({ params }: XaJob) => Array.from({ length: params.instances }, (_, index) => index + 1);

const sumOf = (counters: readonly Record<string, number>[], name: string): number =>
  counters.reduce((total, each) => total + each[name]!, 0);

export const openInstances = (job: XaJob): Promise<XaInstances> =>
  job.place === 'embedded' ? openEmbedded(job) : connectAll(job);

async function openEmbedded(job: XaJob): Promise<XaInstances> {
  const { dir, params } = job;
  const all: Instance[] = [];
  const served: ServedInstance[] = [];
  for (const instance of numbersOf(job)) {
    const opened = await openInstance({
      ...emulationOf(dir, params),
      dir: folderOf(dir, params, instance),
      instance,
    });
    all.push(opened);
    // The instances of a folder reach each other over their sockets.
    if (params.instances > 1) served.push(await serveInstance(opened));
  }
  return {
    all,
    eventOfCalls: undefined,
    timeOf: (session) => session.time!,
    waits: async () => mergeWaits(all.map(({ waits }) => waits.snapshot())),
    times: () => addTimes(all.map(({ waits }) => waits.sessionTimes())),
    counted: async ({ name }) =>
      sumOf(
        all.map(({ waits }) => waits.counters()),
        name,
      ),
    async close() {
      await Promise.all(served.map((each) => each.close()));
      await Promise.all(all.map((each) => each.close()));
    },
  };
}

async function connectAll(job: XaJob): Promise<XaInstances> {
  const all = await Promise.all(
    numbersOf(job).map((instance) => connect({ dir: folderOf(job.dir, job.params, instance), instance })),
  );
  const waits = new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });
  const times = new Map<Session, SessionTime>();
  return {
    all,
    eventOfCalls: serverCall,
    timeOf(session) {
      const known = times.get(session) ?? waits.openSession();
      times.set(session, known);
      return known;
    },
    waits: async () =>
      mergeWaits([waits.snapshot(), ...(await Promise.all(all.map((instance) => instance.waits())))]),
    times: () => waits.sessionTimes(),
    async counted({ name }) {
      const stats = await Promise.all(all.map((instance) => instance.stats()));
      return sumOf(
        stats.map(({ counters }) => counters),
        name,
      );
    },
    async close() {
      await Promise.all(all.map((each) => each.close()));
    },
  };
}
