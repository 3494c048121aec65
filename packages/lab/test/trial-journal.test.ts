/** The journal that keeps measured trials between runs: a trial is found by what determines it, and survives a kill. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario, Tick } from '@shardlab/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { createHistogram, latencyOf, recordMs } from '../src/meters/latency.ts';
import { planRun } from '../src/run/plan-run.ts';
import { identityOf, TrialJournal } from '../src/run/trial-journal.ts';
import type { MeasuredRepeat } from '../src/trial/trial.ts';
import { smallScenario } from './support.ts';

const folders: string[] = [];
function journalPath(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'shardlab-journal-')));
  return join(folders.at(-1)!, 'recording', 'trials.jsonl');
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function measuredRepeat(dequeuePerSec: number): MeasuredRepeat {
  const latency = createHistogram();
  recordMs(latency, 2.5, 10);
  return {
    figures: { dequeuePerSec },
    provenance: 'measured',
    latencies: { latency },
    byInstance: {},
    waits: [],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    measuredMs: 100,
  };
}

function identities(changes: Partial<Scenario> = {}) {
  const scenario = smallScenario({ repeats: 2, ...changes });
  const plan = planRun(scenario, 'full');
  return plan.trials.map((trial) => identityOf(trial, scenario, plan));
}

describe('a journal of trials', () => {
  test('returns the trials that were added, also to the next process', () => {
    const path = journalPath();
    const [first, second] = identities();
    new TrialJournal(path).add(first!, { repeat: measuredRepeat(1234), ticks: [] });
    const journal = new TrialJournal(path);
    const { repeat } = journal.find(first!)!;
    expect(repeat.figures).toEqual({ dequeuePerSec: 1234 });
    expect(latencyOf(repeat.latencies.latency!)).toMatchObject({ p50: 2.501, count: 10 });
    expect(journal.find(second!)).toBeUndefined();
  });

  test('exists before the first trial ends, so that a run that is interrupted in that trial can be resumed', () => {
    const path = journalPath();
    new TrialJournal(path);
    expect(existsSync(path)).toBe(true);
  });

  test('shares a trial with a scenario that differs only in its texts and claims', () => {
    const journal = new TrialJournal(journalPath());
    for (const identity of identities()) journal.add(identity, { repeat: measuredRepeat(1), ticks: [] });
    const found = (changes: Partial<Scenario>) =>
      identities(changes).filter((identity) => journal.find(identity)).length;
    expect(found({ id: 'other', title: 'Another figure of it', claims: ['A4'] })).toBe(16);
    expect(found({ sweep: { instances: [2], threads: [1, 2, 4] } })).toBe(8);
    expect(found({ seed: 8 })).toBe(0);
    expect(found({ phases: { warmupMs: 20, measureMs: 101, drainMs: 5_000 } })).toBe(0);
    expect(found({ parameters: { payloadBytes: 65 } })).toBe(0);
    expect(found({ probes: true })).toBe(0);
    expect(found({ kills: true })).toBe(14); // one trial of each system is followed by a kill, and measured again
  });

  test('keeps ticks of the first repeat', () => {
    const journal = new TrialJournal(journalPath());
    const all = identities();
    for (const [index, identity] of all.entries()) {
      const { program, system, params } = identity.trial;
      const tick: Tick = {
        atMs: index,
        trial: index,
        program,
        system,
        params,
        phase: 'measure',
        instances: [],
      };
      journal.add(identity, { repeat: measuredRepeat(1), ticks: [tick] });
    }
    expect(journal.ticksOf(all).map(({ atMs }) => atMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('can be read and extended after a line that a kill cut off', () => {
    const path = journalPath();
    const [first, second] = identities();
    new TrialJournal(path).add(first!, { repeat: measuredRepeat(1), ticks: [] });
    appendFileSync(path, '{"key":"[\\"cut');
    new TrialJournal(path).add(second!, { repeat: measuredRepeat(2), ticks: [] });
    const journal = new TrialJournal(path);
    expect(journal.find(first!)?.repeat.figures.dequeuePerSec).toBe(1);
    expect(journal.find(second!)?.repeat.figures.dequeuePerSec).toBe(2);
  });

  test('leaves out lines in its middle that are not as they were written, and names them', () => {
    const path = journalPath();
    const [first, second, third, fourth] = identities({ repeats: 4 });
    const written = new TrialJournal(path);
    for (const [index, identity] of [first!, second!, third!, fourth!].entries())
      written.add(identity, { repeat: measuredRepeat(index), ticks: [] });
    const lines = readFileSync(path, 'utf8').split('\n');
    lines[0] = lines[0]!.slice(0, -20);
    lines[1] = lines[1]!.replace('"dequeuePerSec":1', '"dequeuePerSec":9');
    lines[2] = 'null';
    writeFileSync(path, lines.join('\n'));
    const told: string[] = [];
    const journal = new TrialJournal(path, (sentence) => told.push(sentence));
    expect([first, second, third].map((identity) => journal.find(identity!))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(journal.find(fourth!)?.repeat.figures.dequeuePerSec).toBe(3);
    expect(told).toEqual(
      [1, 2, 3].map((line) => `Line ${line} of ${path} is damaged: its trial is measured again`),
    );
    journal.add(first!, { repeat: measuredRepeat(5), ticks: [] });
    expect(new TrialJournal(path, () => undefined).find(first!)?.repeat.figures.dequeuePerSec).toBe(5);
  });
});
