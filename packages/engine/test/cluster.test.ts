import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { openInstance } from '../src/index.ts';
import { makeFolder, text } from './folder.ts';

describe.each(['unsharded', 'unsharded-grouped'] as const)('several processes on one %s queue', (kind) => {
  it('open the file and elect the process that orders the writers at the same moment, and lose or duplicate nothing', {
    timeout: 60_000,
  }, async () => {
    for (let round = 0; round < (kind === 'unsharded' ? 5 : 1); round += 1) {
      const dir = makeFolder();
      const first = await openInstance({ dir });
      await first.createQueue({ name: 'q', kind });
      await first.close();
      const count = 20;
      const workers = [1, 2, 3, 4].map((instance) =>
        fork(new URL('./cluster-worker.ts', import.meta.url), [dir, String(instance), String(count)]),
      );
      const next = async (worker: ChildProcess) => (await once(worker, 'message'))[0] as string[];
      await Promise.all(workers.map(next));
      const answers = workers.map(next);
      const ended = workers.map((worker) => once(worker, 'exit'));
      for (const worker of workers) worker.send('go');
      const taken = (await Promise.all(answers)).flat();
      expect((await Promise.all(ended)).map(([code]) => code)).toEqual([0, 0, 0, 0]);

      const last = await openInstance({ dir });
      const rest = text(await last.openSession().dequeue('q', { max: 1_000 }));
      await last.close();
      const expected = workers.flatMap((_, index) =>
        Array.from({ length: count }, (__, i) => `${index + 1}.${i}`),
      );
      expect([...taken, ...rest].sort()).toEqual(expected.sort());
    }
  });
});
