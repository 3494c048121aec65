/** A process to be killed: hosts an instance and runs workloads on it. Its only argument is the task as JSON. */
import { connect, openInstance, serveInstance } from '@shardlab/engine';
import type { Recorder } from '@shardlab/history';
import { newRecorder, writeMoment } from './processes/history-pipe.ts';
import { Random } from './processes/random.ts';
import { SelfKill } from './processes/self-kill.ts';
import { partitionMessagesMax, type Role, type WorkerTask } from './processes/worker-task.ts';
import { workloadNamed } from './workloads/index.ts';
import { type Host, isTransient, type TortureWorkload, WorkloadContext } from './workloads/workload.ts';

/** A process counts as working after this many acknowledged commits. */
const commitsUntilWork = 12;

/** The roles of a client at the instances of a cluster, in their order. */
const clientRoles: readonly Role[] = ['enqueue', 'dequeue', 'both'];
/** Short, so that forwarded messages without a consumer are returned to their owner soon. */
const forwardIdleMsMax = 150;

async function openHosts(
  { dir, instance, role, connectTo = [] }: WorkerTask,
  random: Random,
  recorder: Recorder,
): Promise<Host[]> {
  if (instance === undefined) {
    return Promise.all(connectTo.map((id) => connect({ dir, instance: id, connectMs: 30_000 })));
  }
  const cacheBytesMax = random.pick([4_096, 1024 * 1024, undefined]);
  const opened = await openInstance({
    dir,
    instance,
    partitionMessagesMax,
    ...(cacheBytesMax === undefined ? {} : { cacheBytesMax }),
  });
  process.once('SIGTERM', () => {
    // Holds end while it closes, and before its last line.
    recorder.begin({ type: 'kill', of: [recorder.process] });
    void opened.close();
  });
  if (role !== undefined) {
    await serveInstance(opened, { forwardIdleMs: 1 + random.below(forwardIdleMsMax) });
  }
  return [opened];
}

/** A client repeats the setup while its instance fails over. */
async function setUp(workload: TortureWorkload, work: WorkloadContext): Promise<void> {
  for (;;) {
    try {
      return await workload.setUp(work);
    } catch (error) {
      if (!work.isClient || !isTransient(error)) throw error;
    }
  }
}

async function runTask(task: WorkerTask): Promise<void> {
  const random = new Random(task.seed);
  const selfKill = new SelfKill(task.selfKill);
  let commits = 0;
  const onCommitted = () => {
    commits += 1;
    if (commits === commitsUntilWork) writeMoment({ moment: 'working' });
  };
  writeMoment({ moment: 'opening' });
  const isClient = task.connectTo !== undefined;
  const recorder = newRecorder(task.processName);
  for (const [index, host] of (await openHosts(task, random, recorder)).entries()) {
    const namePrefix = `${task.processName}${isClient ? `-${index}` : ''}`;
    const role = task.role ?? (isClient ? clientRoles[index % clientRoles.length]! : 'both');
    const common = { host, recorder, namePrefix, isClient, role, selfKill, onCommitted };
    for (const name of task.workloads) {
      const workload = workloadNamed(name);
      const work = new WorkloadContext({ ...common, workloadName: name, random: random.fork() });
      await setUp(workload, work);
      workload.start(work);
    }
  }
}

// An interrupted torture test must not leave processes behind.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 1_000).unref();

runTask(JSON.parse(process.argv[2]!) as WorkerTask).catch((error: unknown) => {
  writeMoment({ moment: 'failed', text: (error as Error).stack ?? String(error) });
  process.exit(1);
});
