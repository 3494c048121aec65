/** After a process is killed at any moment of its work on indexed partitions, messages and indexes agree. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { all } from './marked.ts';

const worker = fileURLToPath(new URL('./index-worker.ts', import.meta.url));

it('after each kill a browse by the index finds exactly what a full browse shows', {
  timeout: 120_000,
}, async () => {
  const dir = makeFolder();
  const next = random(drawnSeed);
  for (let round = 0; round < 4; round += 1) {
    const child = fork(worker, [dir], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(child, 'exit');
    const killAt = 30 + Math.floor(next() * 200);
    child.on('message', (first: number) => {
      if (first >= killAt) child.kill('SIGKILL');
    });
    expect((await ended)[1]).toBe('SIGKILL');

    const instance = await openTestInstance({ dir });
    for (const queue of ['indexed', 'plain']) {
      const everything = await all(instance, queue, { limit: 1_000 });
      expect(everything).toHaveLength(instance.queue(queue).ready);
      for (const correlationId of ['id-0', 'id-1', 'id-2', 'id-3']) {
        const wanted = everything.filter((each) => each.correlationId === correlationId);
        expect(text(await all(instance, queue, { correlationId, limit: 100 }))).toEqual(text(wanted));
      }
    }
    await instance.close();
  }
});
