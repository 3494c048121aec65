/** Runs whose files cannot be written or deleted. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bundledStudies } from '@shardlab/lab';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { RecordedRuns } from '../src/runs/recorded-runs.ts';
import type { RunFiles } from '../src/runs/run-files.ts';
import type { RunJournals } from '../src/runs/run-journals.ts';
import { RunService } from '../src/runs/run-service.ts';
import type { RunStore } from '../src/store/run-store.ts';
import { smallScenario, waiting } from './start-app.ts';

function serviceWith(journals: Partial<RunJournals>) {
  const faults: unknown[] = [];
  const store = {
    endInterrupted: () => 0,
    queued: () => [],
    add: () => undefined,
    update: () => undefined,
  } as unknown as RunStore;
  const service = new RunService({
    store,
    recorded: {} as RecordedRuns,
    files: {} as RunFiles,
    studies: bundledStudies,
    history: { keep: async () => undefined },
    scratchDir: '/nowhere',
    journals: { sweep: () => undefined, ...journals } as RunJournals,
    now: () => 0,
    hidePaths: (value) => value,
    onFault: (error) => faults.push(error),
    onFailed: () => undefined,
  });
  onTestFinished(() => service.close());
  return { service, faults };
}

it('a run whose journal can be neither written nor deleted is a fault, and the next one is started', async () => {
  const [write, remove] = [new Error('cannot write'), new Error('cannot delete')];
  const fail = (error: Error) => () => {
    throw error;
  };
  const { service, faults } = serviceWith({ path: fail(write), remove: fail(remove) });
  for (const id of [1, 2]) {
    service.start(smallScenario({ id: `run-${id}` }), 'quick');
    await vi.waitFor(() => expect(service.underWay).toBe(0), waiting);
    await nextTurn();
  }
  expect(faults).toEqual([write, remove, write, remove]);
});
