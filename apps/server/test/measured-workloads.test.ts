import type { MeasuredWorkloadList, Run } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { runToEnd, smallScenario, startApp } from './start-app.ts';

it('lists the workloads that finished runs of this machine measured, but not imported ones', async () => {
  const test = await startApp();
  const read = async () => (await test.get<MeasuredWorkloadList>('/api/measured-workloads')).body.workloads;
  expect(await read()).toEqual([]);
  let run = await runToEnd(test, smallScenario());
  // A busy machine may dequeue nothing in this short window. Such a run has no rate and is repeated.
  while (run.points[0]!.figures.dequeuePerSec!.value === 0) run = await runToEnd(test, smallScenario());
  const workloads = await read();
  expect(workloads).toMatchObject([
    { run: run.id, title: 'One small point', kind: 'sharded', params: { instances: 1, threads: 1 } },
  ]);
  expect(workloads[0]!.figures.dequeuePerSec).toBe(run.points[0]!.figures.dequeuePerSec!.value);
  const elsewhere: Run = { ...run, points: run.points.map((point) => ({ ...point, system: 'unsharded' })) };
  expect((await test.post('/api/runs/import', elsewhere)).status).toBe(201);
  expect(await read()).toEqual(workloads);
});
