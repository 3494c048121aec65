/** A process to be killed: hosts an instance and runs loads on it. Told what to do by its one argument, a JSON text. */
import { openInstance } from '@shardlab/engine';
import { Work } from './actor.ts';
import { actorNamed } from './actors/index.ts';
import { writeNote } from './notes.ts';
import { Random } from './random.ts';
import { SelfKill } from './self-kill.ts';
import { partitionMessagesMax, type WorkerTask } from './task.ts';

/** From so many acknowledged commits on a process counts as at work. */
const commitsUntilWork = 12;

async function run({ dir, instance: id, life, seed, actors, selfKill }: WorkerTask): Promise<void> {
  const random = new Random(seed);
  const kill = new SelfKill(selfKill);
  let commits = 0;
  const onCommitted = () => {
    commits += 1;
    if (commits === commitsUntilWork) writeNote({ kind: 'working' });
  };
  writeNote({ kind: 'opening' });
  const cacheBytesMax = random.pick([4_096, 1024 * 1024, undefined]);
  const instance = await openInstance({
    dir,
    instance: id,
    partitionMessagesMax,
    ...(cacheBytesMax === undefined ? {} : { cacheBytesMax }),
  });
  process.once('SIGTERM', () => void instance.close());
  for (const name of actors) {
    const actor = actorNamed(name);
    await actor.setUp(instance);
    actor.start(
      new Work({ actor: name, instance, life, random: random.fork(), selfKill: kill, onCommitted }),
    );
  }
}

run(JSON.parse(process.argv[2]!) as WorkerTask).catch((error: unknown) => {
  writeNote({ kind: 'failed', text: (error as Error).stack ?? String(error) });
  process.exit(1);
});
