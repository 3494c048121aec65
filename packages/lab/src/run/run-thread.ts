/** The thread of a run. Started by `start-run-in-thread.ts`, whose first message cancels the run. */
import { parentPort, workerData } from 'node:worker_threads';
import { StudyRegistry } from '../studies/registry.ts';
import { startRun } from './start-run.ts';
import type { RunThreadData, RunUpdate } from './start-run-in-thread.ts';
import { TrialJournal } from './trial-journal.ts';

const port = parentPort!;
const cancelled = new AbortController();
port.once('message', () => cancelled.abort());

const { journalPath, studyFolders, ...given } = workerData as RunThreadData;
await startRun({
  ...given,
  studies: await StudyRegistry.load(studyFolders.map((folder) => new URL(folder))),
  ...(journalPath === undefined ? {} : { journal: new TrialJournal(journalPath) }),
  signal: cancelled.signal,
  onEvent(event, { startedAtMs, endedAtMs, environment, progress }) {
    const changes = { startedAtMs, endedAtMs, environment, progress };
    port.postMessage({ event: event.type === 'end' ? null : event, changes } satisfies RunUpdate);
  },
});
port.close();
