import type { MachineState, RunList } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { coresBusy, readCpu } from '../src/machine-cpu.ts';
import { endlessScenario, smallScenario, startApp } from './start-app.ts';

/** CPU readings of a machine on which 1.5 of 2 cores are always busy. */
function busyCores() {
  let readings = 0;
  return () => {
    readings += 1;
    return { cores: 2, allMs: readings * 200, busyMs: readings * 150 };
  };
}

describe('the state of the machine', () => {
  it('has the number of busy cores, and no load or run if none is under way', async () => {
    const test = await startApp({ cpu: busyCores() });
    const { status, body } = await test.get<MachineState>('/api/machine');
    expect(status).toBe(200);
    expect(body).toEqual({
      cores: 2,
      coresBusy: 1.5,
      loadRunning: false,
      runsUnderWay: 0,
      calibrating: false,
    });
  });

  it('has the load of the cluster page and the runs that have not ended', async () => {
    const test = await startApp({ cpu: busyCores() });
    await test.post('/api/cluster/load', { durationMs: 60_000, ratePerSec: 10 });
    const { id } = (await test.post<{ id: string }>('/api/runs', { scenario: endlessScenario() })).body;
    expect((await test.get<MachineState>('/api/machine')).body).toMatchObject({
      loadRunning: true,
      runsUnderWay: 1,
    });
    await test.post(`/api/runs/${id}/cancel`);
    await test.remove('/api/cluster/load');
  });

  it('reads the cores of the real machine', () => {
    const before = readCpu();
    expect(before.cores).toBeGreaterThan(0);
    expect(before.busyMs).toBeLessThanOrEqual(before.allMs);
    expect(coresBusy(before, before)).toBe(0);
  });
});

describe('the list of runs', () => {
  it('can be limited to one scenario', async () => {
    const test = await startApp();
    const first = await test.post<{ id: string }>('/api/runs', { scenario: endlessScenario() });
    const other = { ...smallScenario({}), id: 'another' };
    const second = await test.post<{ id: string }>('/api/runs', { scenario: other });
    const listed = async (query: string) =>
      (await test.get<RunList>(`/api/runs${query}`)).body.runs.map(({ id }) => id);
    expect(await listed('')).toEqual([second.body.id, first.body.id]);
    expect(await listed('?scenario=another')).toEqual([second.body.id]);
    expect(await listed('?scenario=unknown')).toEqual([]);
    await test.post(`/api/runs/${second.body.id}/cancel`);
    await test.post(`/api/runs/${first.body.id}/cancel`);
  });
});
