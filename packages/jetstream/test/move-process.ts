/**
 * Moves a queue, and kills itself at the given point if there is one: `move-process.ts <to-jetstream or to-local> <folder> <url>
 * <queue> <step, page or none>`.
 */
import { openInstance, type Session } from '@shardlab/engine';
import { type LocalQueues, moveToJetStream, moveToLocal } from '../src/index.ts';

const [direction, dir, url, queue, killAt] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const die = () => process.kill(process.pid, 'SIGKILL');
const instance = await openInstance({ dir });
let pages = 0;
let isCopying = false;
function countPage() {
  pages += isCopying ? 1 : 0;
  if (killAt === 'page' && pages === 3) die();
}

function countCommits(session: Session): Session {
  const commit = session.commit.bind(session);
  session.commit = (options) => {
    countPage();
    return commit(options);
  };
  return session;
}

const local: LocalQueues = {
  createQueue: (spec) => instance.createQueue(spec),
  startQueue: (name, which) => instance.startQueue(name, which),
  stopQueue: (name, which) => instance.stopQueue(name, which),
  dropQueue: (name, options) => instance.dropQueue(name, options),
  queue: (name) => instance.queue(name),
  probe: () => instance.probe(),
  openSession: () => countCommits(instance.openSession()),
  browse: (name, options) => {
    countPage();
    return instance.browse(name, options);
  },
};
await (direction === 'to-local' ? moveToLocal : moveToJetStream)({
  servers: url,
  queue,
  local,
  onStep: (step) => {
    isCopying = step === 'copy';
    if (step === killAt) die();
  },
});
await instance.close();
