/** What Prometheus sees of processes that are killed: no counter falls, and nothing is shown of what does not answer. */
import type { Cluster } from '@shardlab/contract';
import { Counter, Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { KeptCounter } from '../src/routes/kept-counter.ts';
import { startApp, type TestApp, waiting } from './start-app.ts';

interface Scrape {
  counters: Map<string, number>;
  gauges: Map<string, number>;
}

async function scrape({ get }: TestApp): Promise<Scrape> {
  const text = String((await get('/metrics')).body);
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
  const [counters, gauges] = [new Map<string, number>(), new Map<string, number>()];
  for (const [, series, name, value] of text.matchAll(/^((shardlab_\w+)(?:\{.*\})?) (\S+)$/gm))
    (types.get(name!) === 'counter' ? counters : gauges).set(series!, Number(value));
  return { counters, gauges };
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

it('no counter falls while all processes are killed and return, and gauges of the dead are absent', {
  timeout: 90_000,
}, async () => {
  const test = await startApp();
  await test.put('/api/cluster/topology', { instances: 2 });
  await test.post('/api/queues', { name: 'q' });
  for (let index = 0; index < 10; index += 1)
    await test.post('/api/queues/q/messages', { messages: [{ payload: index }] });
  await test.post('/api/queues/q/dequeue', { max: 10, mode: 'at-most-once' });
  let before = await scrape(test);
  expect(before.counters.get('shardlab_queue_enqueued_messages_total{queue="q"}')).toBe(10);
  /** A scrape in which nothing that was counted before is missing or lower. */
  const next = async () => {
    const now = await scrape(test);
    for (const [series, value] of before.counters)
      expect([series, (now.counters.get(series) ?? -1) >= value]).toEqual([series, true]);
    before = now;
    return now;
  };
  const up = (gauges: Scrape['gauges']) =>
    [1, 2].map((instance) => gauges.get(`shardlab_instance_up{instance="${instance}"}`));
  await vi.waitFor(async () => {
    // On a busy machine they return while a scrape waits for them, which then shows them as up: they are killed until one does not.
    const { processes } = (await test.get<Cluster>('/api/cluster')).body;
    for (const { pid } of processes) killIfRunning(pid);
    const { gauges } = await next();
    expect(up(gauges)).toContain(0);
    for (const [index, isUp] of up(gauges).entries()) {
      if (isUp === 1) continue;
      const ofDead = [...gauges.keys()].filter((series) => series.includes(`instance="${index + 1}"`));
      expect(ofDead.map((series) => series.split('{')[0]).sort()).toEqual([
        'shardlab_instance_ready',
        'shardlab_instance_up',
      ]);
    }
  }, waiting);
  await vi.waitFor(async () => expect(up((await next()).gauges)).toEqual([1, 1]), {
    ...waiting,
    timeout: 60_000,
  });
  // The total is that of before, and grows from there.
  await test.post('/api/queues/q/messages', { messages: [{ payload: 'after' }] });
  await vi.waitFor(async () => {
    const { counters } = await next();
    expect(counters.get('shardlab_queue_enqueued_messages_total{queue="q"}')).toBe(11);
  }, waiting);
  await test.remove('/api/queues/q');
  await vi.waitFor(async () => {
    const { counters } = await scrape(test);
    expect([...counters.keys()].filter((series) => series.includes('queue="q"'))).toEqual([]);
  }, waiting);
});

it('a kept counter adds what a source counts anew, and waits for a stored count to pass what was lost', async () => {
  const shown = async (since: 'reopened' | 'stored', readings: [number, string?][]) => {
    const registers = [new Registry()];
    const counter = new KeptCounter(new Counter({ name: 'c', help: 'c', registers, labelNames: ['l'] }), {
      since,
    });
    for (const [value, part] of readings) counter.read({ l: 'a' }, value, part);
    counter.write();
    return (await registers[0]!.getSingleMetric('c')!.get()).values[0]!.value;
  };
  expect(await shown('reopened', [[5], [7], [2], [3]])).toBe(10);
  expect(await shown('stored', [[5], [7], [2], [3]])).toBe(7);
  expect(
    await shown('stored', [
      [5, '1'],
      [4, '2'],
      [6, '1'],
    ]),
  ).toBe(10);
});
