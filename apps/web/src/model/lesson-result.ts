/** The result of a lesson's run in words: the guess beside the result, what happened, and where sessions waited. */
import type { Guess, Lesson, Point, Run, Sentence } from '@shardlab/contract';
import { queueSessions } from './contention.ts';
import { formatSessions, formatValue } from './format.ts';
import { fillIn, inWords, type Measured, measuredQuantities, selectPoint } from './lesson-quantities.ts';

export interface LessonResult {
  /** Null without a guess, or if the run did not measure what was to be guessed. */
  compared: ComparedGuess | null;
  happened: string[];
  waited: string[];
}

export interface ComparedGuess {
  /** The guess and the result in words. */
  guess: string;
  result: string;
  /** How good the guess was, in a sentence. */
  verdict: string;
  isClose: boolean;
  /** Lengths on one scale from zero, the longer one 1; null for a choice. */
  bars: { guess: number; result: number } | null;
}

/** `guess`: the value of a slider, or the number of a choice, from 0; null for none. */
export function lessonResult(
  lesson: Lesson,
  run: Pick<Run, 'points' | 'environment'>,
  guess: number | null,
): LessonResult {
  const measured = measuredQuantities(lesson, run.points);
  const { points, sentences } = lesson.waited;
  const cores = run.environment?.cores ?? null;
  return {
    compared: guess === null ? null : compareGuess(lesson, measured, guess),
    happened: say(lesson.happened, lesson, measured),
    waited: [
      ...points.flatMap(({ as, at }) => {
        const point = selectPoint(run.points, at);
        return point === undefined ? [] : waitsInWords(as, point, cores);
      }),
      ...say(sentences, lesson, measured),
    ],
  };
}

/** Sentences that name what was not measured are left out. */
const say = (sentences: readonly Sentence[], lesson: Lesson, measured: Measured): string[] =>
  sentences.flatMap((sentence) => {
    const text = typeof sentence === 'string' ? sentence : chosen(sentence, measured);
    return text === null ? [] : (fillIn(text, lesson, measured) ?? []);
  });

function chosen({ by, cases }: Exclude<Sentence, string>, measured: Measured): string | null {
  const value = measured.get(by) ?? null;
  return value === null ? null : cases[caseOf(cases, value)]!.say;
}

/** The index of the case of a value. The last case has no bound. */
const caseOf = (cases: readonly { below?: number }[], value: number): number =>
  cases.findIndex(({ below }) => below === undefined || value < below);

/** Whether a value is one that the slider has, or the number of an option. */
export function isGuess(guess: Guess, value: number): boolean {
  if (guess.kind === 'choice') return guess.options[value] !== undefined;
  return value >= guess.min && value <= guess.max;
}

/** "4 times", or the text of an option. */
export function guessInWords(lesson: Lesson, value: number): string {
  const { guess } = lesson;
  return guess.kind === 'choice' ? guess.options[value]!.label : inWords(lesson, guess.of, value);
}

function compareGuess(lesson: Lesson, measured: Measured, value: number): ComparedGuess | null {
  const { guess } = lesson;
  const result = measured.get(guess.of) ?? null;
  if (result === null) return null;
  const said = guessInWords(lesson, value);
  const resultWords = inWords(lesson, guess.of, result);
  if (guess.kind === 'choice') {
    const right = caseOf(guess.options, result);
    const label = guess.options[right]!.label;
    return {
      guess: said,
      result: `${label.charAt(0).toUpperCase()}${label.slice(1)} (${resultWords})`,
      verdict: right === value ? 'You were right.' : 'Your guess was different.',
      isClose: right === value,
      bars: null,
    };
  }
  const longest = Math.max(value, result);
  const length = (each: number) => (longest > 0 ? Math.max(0, each) / longest : 0);
  return {
    guess: said,
    result: resultWords,
    ...howClose(value, result),
    bars: { guess: length(value), result: length(result) },
  };
}

/** Within a quarter of each other. */
const closeRatio = 1.25;

function howClose(guess: number, result: number): { verdict: string; isClose: boolean } {
  if (guess === result) return { verdict: 'Exactly.', isClose: true };
  const [low, high] = [Math.min(guess, result), Math.max(guess, result)];
  if (low <= 0) return { verdict: `Off by ${formatValue(high - low)}.`, isClose: false };
  const ratio = high / low;
  if (ratio <= closeRatio) return { verdict: 'Close: within a quarter.', isClose: true };
  const times = `${formatValue(ratio)} times`;
  return {
    verdict: result > guess ? `The result is ${times} your guess.` : `Your guess is ${times} the result.`,
    isClose: false,
  };
}

/** Minimum average number of sessions for a wait to be mentioned. */
const toldFrom = 0.05;
const toldMax = 2;

/**
 * "Unsharded, 16 threads: 22.7 sessions waited for “write lock” on average, 0.68 for “log file sync”; 0.25 of 2 cores were busy."
 * Empty for a program that records no waits.
 */
function waitsInWords(place: string, point: Point, cores: number | null): string[] {
  const { waits, cores: busy } = queueSessions(point);
  const told = waits.filter(({ sessions }) => sessions >= toldFrom).slice(0, toldMax);
  const parts = told.map(({ event, sessions }, index) => {
    const many = formatValue(sessions);
    return index === 0
      ? `${many} ${many === '1' ? 'session' : 'sessions'} waited for “${event}” on average`
      : `${many} for “${event}”`;
  });
  const onCores =
    busy > 0 ? [`${formatSessions(busy)}${cores === null ? '' : ` of ${cores}`} cores were busy`] : [];
  if (parts.length === 0 && onCores.length === 0) return [];
  const waited = parts.length === 0 ? 'no session waited' : parts.join(', ');
  return [`${place}: ${[waited, ...onCores].join('; ')}.`];
}
