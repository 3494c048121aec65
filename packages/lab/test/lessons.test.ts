/** The lessons of the repository, and the faults that a lesson may have. */
import type { Lesson } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { LabError } from '../src/errors/errors.ts';
import { readLessonFolder } from '../src/lessons/lesson-folder.ts';
import { parseLesson } from '../src/lessons/parse-lesson.ts';
import { readScenarioFolder } from '../src/scenario/scenario-folder.ts';

const files = await readLessonFolder();
const lessons = files.flatMap(({ read }) => (read instanceof LabError ? [] : [read]));
const pattern = lessons.find(({ topic }) => topic === 'Sharding')!;

function faultsOf(change: (lesson: Lesson) => void): { path: string; message: string }[] {
  const lesson = structuredClone(pattern);
  change(lesson);
  try {
    parseLesson(JSON.stringify(lesson));
  } catch (error) {
    expect(error).toMatchObject({ code: 'LESSON_INVALID' });
    return (error as LabError).details.errors as { path: string; message: string }[];
  }
  return [];
}

describe('the lessons', () => {
  it('are valid', () => {
    expect(files.filter(({ read }) => read instanceof LabError)).toEqual([]);
  });

  it('are about sharding, group commit, the herd, XA, pipelining and failover, in this order', () => {
    const topics = lessons.toSorted((a, b) => a.position - b.position).map(({ topic }) => topic);
    expect(topics).toEqual(['Sharding', 'Group commit', 'Thundering herd', 'XA', 'Pipelining', 'Failover']);
    expect(new Set(lessons.map(({ position }) => position)).size).toBe(lessons.length);
  });

  it('have ids that no scenario has', async () => {
    const ids = lessons.map(({ scenario }) => scenario.id);
    const scenarios = (await readScenarioFolder()).flatMap(({ parsed }) =>
      parsed.ok ? [parsed.scenario.id] : [],
    );
    expect(scenarios.filter((id) => ids.includes(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a lesson is refused', () => {
  it.each<[string, (lesson: Lesson) => void, string]>([
    [
      'with a fault of its scenario',
      (lesson) => {
        lesson.scenario.seed = -1;
      },
      '/scenario/seed',
    ],
    [
      'with a figure that its program does not have',
      ({ quantities }) => void Object.assign(quantities.sharded!, { figure: 'speed' }),
      '/quantities/sharded/figure',
    ],
    [
      'if a quantity selects more than one point',
      ({ quantities }) => void Object.assign(quantities.sharded!, { at: { system: 'sharded', params: {} } }),
      '/quantities/sharded/at',
    ],
    [
      'if a quantity selects no point',
      ({ quantities }) =>
        void Object.assign(quantities.sharded!, { at: { system: 'sharded', params: { threads: 5 } } }),
      '/quantities/sharded/at',
    ],
    [
      'if a ratio is of a quantity that comes later',
      (lesson) => {
        lesson.quantities = {
          early: { ratio: ['sharded', 'unsharded'], format: 'times' },
          ...lesson.quantities,
        };
      },
      '/quantities/early',
    ],
    [
      'with a fault that its scenario does not have',
      ({ quantities }) => {
        quantities.kill = {
          fault: 'kill',
          take: 'outageMs',
          at: { system: 'sharded', params: { threads: 16 } },
          format: 'milliseconds',
        };
      },
      '/quantities/kill/fault',
    ],
    [
      'if it asks for an unknown quantity',
      ({ guess }) => {
        guess.of = 'luck';
      },
      '/guess/of',
    ],
    [
      'if a sentence names an unknown quantity',
      ({ happened }) => {
        happened[0] = 'It took {ages}.';
      },
      '/happened/0',
    ],
    [
      'if a sentence rests on no quantity',
      ({ happened }) => {
        happened[0] = 'Sharding is faster.';
      },
      '/happened/0',
    ],
    [
      'if cases do not ascend',
      ({ waited }) => {
        waited.sentences[0] = {
          by: 'locked',
          cases: [{ below: 2, say: 'a' }, { below: 1, say: 'b' }, { say: 'c' }],
        };
      },
      '/waited/sentences/0/cases/1/below',
    ],
    [
      'if the last case has a bound',
      ({ waited }) => {
        waited.sentences[0] = {
          by: 'locked',
          cases: [
            { below: 2, say: 'a' },
            { below: 3, say: 'b' },
          ],
        };
      },
      '/waited/sentences/0/cases/1/below',
    ],
    [
      'if its run would take longer than 30 s',
      ({ scenario }) => {
        scenario.phases.measureMs = 10_000;
      },
      '/scenario',
    ],
  ])('%s', (_, change, path) => {
    expect([...new Set(faultsOf(change).map((fault) => fault.path))]).toEqual([path]);
  });

  it('if it is not JSON', () => {
    expect(() => parseLesson('{"topic": }')).toThrow(expect.objectContaining({ code: 'LESSON_INVALID' }));
  });
});
