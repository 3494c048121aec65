/** A process to be killed: hosts an instance and runs loads on it. Told what to do by its one argument, a JSON text. */
import { connect, openInstance, serveInstance } from '@shardlab/engine';
import { type Actor, type Host, isPassing, Work } from './actor.ts';
import { actorNamed } from './actors/index.ts';
import { writeNote } from './notes.ts';
import { Random } from './random.ts';
import { SelfKill } from './self-kill.ts';
import { partitionMessagesMax, type Role, type WorkerTask } from './task.ts';

/** From so many acknowledged commits on a process counts as at work. */
const commitsUntilWork = 12;

/** What a client does at the instances of a cluster, in their order. */
const clientRoles: readonly Role[] = ['puts', 'takes', 'both'];
/** Short: messages that nobody wants where they went are soon on their way home. */
const forwardIdleMsMax = 150;

async function openHosts(
  { dir, instance, role, connectTo = [] }: WorkerTask,
  random: Random,
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
  process.once('SIGTERM', () => void opened.close());
  if (role !== undefined) {
    await serveInstance(opened, { forwardIdleMs: 1 + random.below(forwardIdleMsMax) });
  }
  return [opened];
}

/** A client tries again while its instance fails over. */
async function setUp(actor: Actor, host: Host, isClient: boolean): Promise<void> {
  for (;;) {
    try {
      return await actor.setUp(host);
    } catch (error) {
      if (!isClient || !isPassing(error)) throw error;
    }
  }
}

async function run(task: WorkerTask): Promise<void> {
  const random = new Random(task.seed);
  const selfKill = new SelfKill(task.selfKill);
  let commits = 0;
  const onCommitted = () => {
    commits += 1;
    if (commits === commitsUntilWork) writeNote({ kind: 'working' });
  };
  writeNote({ kind: 'opening' });
  const isClient = task.connectTo !== undefined;
  for (const [index, host] of (await openHosts(task, random)).entries()) {
    const life = `${task.life}${isClient ? `-${index}` : ''}`;
    const role = task.role ?? (isClient ? clientRoles[index % clientRoles.length]! : 'both');
    const common = { host, life, isClient, role, selfKill, onCommitted };
    for (const name of task.actors) {
      const actor = actorNamed(name);
      await setUp(actor, host, isClient);
      actor.start(new Work({ ...common, actor: name, random: random.fork() }));
    }
  }
}

// A torture that is interrupted must not leave processes behind.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 1_000).unref();

run(JSON.parse(process.argv[2]!) as WorkerTask).catch((error: unknown) => {
  writeNote({ kind: 'failed', text: (error as Error).stack ?? String(error) });
  process.exit(1);
});
