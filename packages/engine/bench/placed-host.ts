/** The process that serves the instance of `commit-place.ts`, which says where its groups are committed. */
import { serveInstance } from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';
import { assembleInstance } from '../src/runtime/assemble-instance.ts';
import type { CommitPlace, CommitPlacement } from '../src/storage/threads/commit-place.ts';

export interface PlacedHostReading {
  cpuUs: number;
  writes: number;
  writeMs: number;
}

const placement: CommitPlacement & { place: CommitPlace } = { place: 'writer thread', record() {} };
const instance = await assembleInstance(
  1,
  { dir: process.argv[2]! },
  { placement, onClosed() {} },
  nodePorts,
);
await instance.createQueue({ name: 'q' });
const served = await serveInstance(instance);

process.on('message', (order: CommitPlace | 'read' | 'close') => {
  if (order === 'close') {
    void served
      .close()
      .then(() => instance.close())
      .then(() => process.disconnect?.());
    return;
  }
  if (order !== 'read') placement.place = order;
  const { user, system } = process.cpuUsage();
  const { 'log writes': writes = 0, 'log write time': writeMs = 0 } = instance.stats().counters;
  process.send?.({ cpuUs: user + system, writes, writeMs } satisfies PlacedHostReading);
});
process.send?.('serving');
