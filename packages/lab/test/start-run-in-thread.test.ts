import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunEvent } from '@shardlab/contract';
import { bundledStudies, StudyRegistry, startRunInThread } from '@shardlab/lab';
import { describe, expect, it, onTestFinished } from 'vitest';
import { smallScenario } from './support.ts';

function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-thread-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const onePoint = smallScenario({
  systems: ['sharded'],
  sweep: { instances: [1], threads: [1] },
});
const endless = { ...onePoint, phases: { warmupMs: 0, measureMs: 600_000, drainMs: 0 } };

describe('a run in a thread of its own', () => {
  it('has the events of a run, and does not block the thread of its host', async () => {
    const events: RunEvent[] = [];
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 1);
    const run = await startRunInThread({
      scenario: onePoint,
      scale: 'full',
      dataDir: makeFolder(),
      watched: () => true,
      onEvent: (event) => events.push(event),
    });
    clearInterval(turning);
    expect(run).toMatchObject({ status: 'done', watched: true, error: null, environment: {} });
    expect(run.points).toHaveLength(1);
    expect(run.startedAtMs).toBeLessThanOrEqual(run.endedAtMs!);
    expect(events[0]).toEqual({ type: 'status', status: 'running' });
    expect(events.filter(({ type }) => type === 'point')).toHaveLength(1);
    expect(events.at(-1)).toEqual({ type: 'end', run });
    expect(turns).toBeGreaterThan(5);
  });

  it('is cancelled by its signal, and leaves nothing behind', async () => {
    const dataDir = makeFolder();
    const abort = new AbortController();
    const run = await startRunInThread({
      scenario: endless,
      scale: 'full',
      dataDir,
      signal: abort.signal,
      onEvent: ({ type }) => type === 'progress' && abort.abort(),
    });
    expect(run).toMatchObject({ status: 'cancelled', points: [] });
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('ends as cancelled if it was cancelled before it began', async () => {
    const run = await startRunInThread({
      scenario: endless,
      scale: 'full',
      dataDir: makeFolder(),
      signal: AbortSignal.abort(),
    });
    expect(run.status).toBe('cancelled');
  });

  it('refuses studies that the thread cannot load, because they are not from a folder', () => {
    const studies = new StudyRegistry(bundledStudies.studies);
    const options = { scenario: onePoint, scale: 'full', dataDir: makeFolder(), studies } as const;
    expect(() => startRunInThread(options)).toThrow('a thread can only load studies from folders');
  });

  it('is cancelled and rejects if its host cannot record an event', async () => {
    const failing = startRunInThread({
      scenario: endless,
      scale: 'full',
      dataDir: makeFolder(),
      onEvent: ({ type }) => {
        if (type === 'progress') throw new Error('the disk is full');
      },
    });
    await expect(failing).rejects.toThrow('the disk is full');
  });
});
