/** The export of a large run is exact, and written in pieces between which the server can do other work. */
import type { Point, Run, Tick } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { point } from '../../../packages/lab/test/support.ts';
import { runToCsv, runToJson } from '../src/runs/run-export.ts';
import { smallScenario } from './start-app.ts';

const head: Run = newRun({ id: 'r', scenario: smallScenario(), scale: 'full', createdAtMs: 1 });
const pointsOf = (count: number): Point[] =>
  Array.from({ length: count }, (_, index) => point({ threads: index + 1, deq: 100 + index, waits: [{}] }));

/** The exported text, and the largest number of points that were read in one turn of the event loop. */
async function exported(write: typeof runToJson, points: readonly Point[], ticks: readonly Tick[] = []) {
  let [inTurn, inTurnMax] = [0, 0];
  let running = true;
  const countTurns = () => {
    inTurn = 0;
    if (running) setImmediate(countTurns);
  };
  countTurns();
  function* counted() {
    for (const each of points) {
      inTurn += 1;
      inTurnMax = Math.max(inTurnMax, inTurn);
      yield each;
    }
  }
  let text = '';
  for await (const piece of write({
    head,
    points: counted,
    damaged: [],
    ticks: async () => JSON.stringify(ticks),
  }))
    text += piece;
  running = false;
  return { text, inTurnMax };
}

describe('an exported run', () => {
  it.each([0, 1, 20])('of %s points is the same JSON as if written at once', async (count) => {
    const points = pointsOf(count);
    const { text } = await exported(runToJson, points);
    expect(JSON.parse(text)).toEqual({ ...head, points });
    if (count > 0) expect(text).toBe(`${JSON.stringify({ ...head, points }, null, 2)}\n`);
  });

  it('has its ticks, in one line', async () => {
    const [first] = pointsOf(1);
    const { program, system, params } = first!;
    const tick: Tick = { atMs: 250, trial: 0, program, system, params, phase: 'measure', instances: [] };
    const { text } = await exported(runToJson, [first!], [tick, { ...tick, atMs: 500 }]);
    expect(JSON.parse(text)).toEqual({ ...head, points: [first], ticks: [tick, { ...tick, atMs: 500 }] });
    expect(text.trimEnd().split('\n').at(-2)).toBe(
      `  "ticks": ${JSON.stringify([tick, { ...tick, atMs: 500 }])}`,
    );
  });

  it.each([
    ['JSON', runToJson],
    ['CSV', runToCsv],
  ])('as %s is converted a few points at a time', async (_format, write) => {
    const { inTurnMax } = await exported(write, pointsOf(200));
    expect(inTurnMax).toBeLessThanOrEqual(8);
  });

  it('as CSV has a header and a row for each point', async () => {
    const { text } = await exported(runToCsv, pointsOf(3));
    expect(text.trimEnd().split('\r\n')).toHaveLength(4);
    expect((await exported(runToCsv, [])).text).toBe('run,scenario,scale,status,program,system\r\n');
  });

  it('as CSV has no formula, whatever its names are, and negative numbers as numbers', async () => {
    const [first] = pointsOf(1);
    const system = '=HYPERLINK("http://127.0.0.1:9/"&A2)';
    const params = { ...first!.params, '@SUM(1)': -1, note: '+1+1' };
    const { text } = await exported(runToCsv, [{ ...first!, system, params } as Point]);
    expect(text).toContain(`,"'=HYPERLINK(""http://127.0.0.1:9/""&A2)",`);
    expect(text).toContain(",'@SUM(1),");
    expect(text).toMatch(/,-1,'\+1\+1,/);
  });

  it('as CSV has a sentence with commas in one cell, in quotes', async () => {
    const [first] = pointsOf(1);
    const contradictions = ['waits of 9 s, but "log file sync" of 1 s'];
    const conditions = { notSteady: 0, disturbed: 0, measuredAgain: 0, contradictions };
    const { text } = await exported(runToCsv, [{ ...first!, conditions }]);
    expect(text).toContain(',"waits of 9 s, but ""log file sync"" of 1 s",');
  });
});
