/** The texts of the lessons for stored runs, one for each lesson, as the lab measured them. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Lesson, Run } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { fillIn, measuredQuantities } from '../src/model/lesson-quantities.ts';
import { isGuess, lessonResult } from '../src/model/lesson-result.ts';

const lessons = new URL('../../../scenarios/lessons/', import.meta.url);
const names = readdirSync(lessons).map((file) => file.replace('.json', ''));
const readLesson = (name: string): Lesson =>
  JSON.parse(readFileSync(new URL(`${name}.json`, lessons), 'utf8'));
const readStored = (name: string): Pick<Run, 'points' | 'environment'> =>
  JSON.parse(readFileSync(new URL(`fixtures/lessons/${name}.json`, import.meta.url), 'utf8'));

const middleOf = ({ guess }: Lesson): number => (guess.kind === 'choice' ? 1 : (guess.min + guess.max) / 2);

/** The run with a figure multiplied at the points with the given system and parameters. */
function scaled(
  run: Pick<Run, 'points' | 'environment'>,
  figure: string,
  by: number,
  isScaled: (point: Run['points'][number]) => boolean,
): Pick<Run, 'points' | 'environment'> {
  const points = run.points.map((point) => {
    const known = point.figures[figure];
    if (!isScaled(point) || known === undefined) return point;
    return { ...point, figures: { ...point.figures, [figure]: { ...known, value: known.value * by } } };
  });
  return { ...run, points };
}

describe.each(names)('the lesson %s', (name) => {
  const lesson = readLesson(name);
  const run = readStored(name);

  it('measures every quantity that it names', () => {
    const missing = [...measuredQuantities(lesson, run.points)].filter(([, value]) => value === null);
    expect(missing).toEqual([]);
  });

  it('says what its stored run found', async () => {
    const { compared, happened, waited } = lessonResult(lesson, run, middleOf(lesson));
    expect(happened).toHaveLength(lesson.happened.length);
    const text = [
      `${compared?.guess} guessed: ${compared?.result}. ${compared?.verdict}`,
      '',
      ...happened,
      '',
      ...waited,
      '',
    ].join('\n');
    expect(text).not.toMatch(/[{}]|NaN|undefined|Infinity/);
    await expect(text).toMatchFileSnapshot(`__lessons__/${name}.txt`);
  });

  it('has no sentence for a run without points', () => {
    expect(lessonResult(lesson, { points: [], environment: null }, middleOf(lesson))).toEqual({
      compared: null,
      happened: [],
      waited: [],
    });
  });
});

describe('what happened', () => {
  it('follows the figures, also if the sharded queue is slower', () => {
    const lesson = readLesson('sharding');
    const run = readStored('sharding');
    const factor = (each: typeof run) => measuredQuantities(lesson, each.points).get('factor')!;
    const slower = scaled(
      run,
      'dequeuePerSec',
      0.5 / factor(run),
      ({ system, params }) => system === 'sharded' && params.threads === 16,
    );
    expect(factor(slower)).toBeCloseTo(0.5);
    expect(lessonResult(lesson, slower, null).happened[0]).toMatch(/: 0\.5 times as many\.$/);
  });

  it('has the text of the first case with a bound above the value, or else of the last case', () => {
    const lesson = readLesson('group-commit');
    const run = readStored('group-commit');
    const withSyncs = (times: number) => {
      const alone = measuredQuantities(lesson, run.points).get('syncsAlone')!;
      const many = measuredQuantities(lesson, run.points).get('syncsMany')!;
      return lessonResult(
        lesson,
        scaled(run, 'syncsPerSec', (times * alone) / many, ({ params }) => params.threads === 32),
        null,
      ).happened[1];
    };
    expect(withSyncs(0.79)).toMatch(/less often/);
    expect(withSyncs(0.81)).toMatch(/hardly more often/);
    expect(withSyncs(40)).toMatch(/40 times as often/);
  });

  it('mentions a lost message', () => {
    const lesson = readLesson('failover');
    const run = readStored('failover');
    const points = run.points.map((point) => ({ ...point, integrity: { ...point.integrity, lost: 3 } }));
    expect(lessonResult(lesson, { ...run, points }, null).happened).toContain(
      '3 acknowledged messages were lost: a bug, please report this run.',
    );
  });
});

describe('the guess', () => {
  const lesson = readLesson('group-commit');
  const run = readStored('group-commit');
  const factor = measuredQuantities(lesson, run.points).get('factor')!;

  it.each([
    [factor, /^Exactly\.$/, true],
    [factor * 1.2, /within a quarter/, true],
    [factor * 3, /^Your guess is 3 times the result\.$/, false],
    [factor / 2, /^The result is 2 times your guess\.$/, false],
  ])('of %d is compared in words', (guess, words, isClose) => {
    const { compared } = lessonResult(lesson, run, guess);
    expect(compared?.verdict).toMatch(words);
    expect(compared?.isClose).toBe(isClose);
  });

  it('is drawn with the result as bars on one scale from zero', () => {
    expect(lessonResult(lesson, run, factor * 4).compared?.bars).toEqual({ guess: 1, result: 0.25 });
    expect(lessonResult(lesson, run, factor / 2).compared?.bars).toEqual({ guess: 0.5, result: 1 });
  });

  it('is right if the value is in the case of the chosen option', () => {
    const xa = readLesson('xa');
    const stored = readStored('xa');
    const right = [0, 1, 2, 3].filter((option) => lessonResult(xa, stored, option).compared?.isClose);
    expect(right).toHaveLength(1);
  });

  it('must be a value of the slider or one of the options', () => {
    const { guess } = lesson;
    expect(guess.kind === 'slider' && [guess.min, guess.max].every((end) => isGuess(guess, end))).toBe(true);
    expect(isGuess(guess, 1_000)).toBe(false);
    expect(isGuess(readLesson('xa').guess, 9)).toBe(false);
    expect(isGuess(readLesson('xa').guess, 1.5)).toBe(false);
  });
});

describe('a text', () => {
  it('is missing if one of its quantities was not measured', () => {
    const lesson = readLesson('xa');
    expect(fillIn('{local} and {two}', lesson, new Map([['local', 1]]))).toBeNull();
    expect(fillIn('{local}', lesson, new Map([['local', 1]]))).toBe('1\u202fms');
  });
});
