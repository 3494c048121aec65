/** Parses and validates a lesson: JSON, schema, its scenario, and whether its run will yield every quantity it names. */
import { Lesson, lessonLimits, type PointSelector, type Quantity, type Sentence } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import {
  problemDetails,
  problemsInWords,
  type ScenarioProblem,
  type ScenarioProblems,
} from '../errors/scenario-problems.ts';
import { expandSweep } from '../programs/expand-sweep.ts';
import { planFigures } from '../run/plan-run.ts';
import { parseScenario } from '../scenario/parse-scenario.ts';
import { readDocument } from '../scenario/read-document.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

/** The scale at which lessons are run. */
const scale = 'quick';

/** Throws `LESSON_INVALID`, whose `details.errors` list faults with their JSON pointers. */
export function parseLesson(text: string, studies: StudyRegistry = bundledStudies): Lesson {
  const lesson = readDocument(text, Lesson, invalid);
  const parsed = parseScenario(lesson.scenario, studies);
  if (!parsed.ok) {
    const faults = parsed.faults.map(({ path, message }) => ({ path: `/scenario${path}`, message }));
    throw invalid({ faults, more: parsed.more });
  }
  const faults = [
    ...checkQuantities(lesson, studies),
    ...checkGuess(lesson),
    ...checkSentences(lesson.happened, '/happened', lesson),
    ...checkSentences(lesson.waited.sentences, '/waited/sentences', lesson),
    ...lesson.waited.points.flatMap(({ at }, index) =>
      checkSelector(at, `/waited/points/${index}/at`, lesson, studies),
    ),
    ...checkTime(lesson, studies),
  ];
  if (faults.length > 0) throw invalid({ faults, more: false });
  return lesson;
}

function checkQuantities(lesson: Lesson, studies: StudyRegistry): ScenarioProblem[] {
  const { scenario, quantities } = lesson;
  const { figures } = studies.program(scenario.program);
  const before: string[] = [];
  return Object.entries(quantities).flatMap(([name, quantity]) => {
    const path = `/quantities/${name}`;
    const faults = termsOf(quantity)
      .filter((term) => !before.includes(term))
      .map((term) => ({ path, message: `No quantity "${term}" stands before it` }));
    before.push(name);
    if (!('at' in quantity)) return faults;
    if ('figure' in quantity && !figures.some((figure) => figure.name === quantity.figure))
      faults.push({
        path: `${path}/figure`,
        message: `The program "${scenario.program}" has no figure "${quantity.figure}"`,
      });
    if ('fault' in quantity && !scenario.faults?.some(({ kind }) => kind === quantity.fault))
      faults.push({ path: `${path}/fault`, message: `The scenario has no fault "${quantity.fault}"` });
    return [...faults, ...checkSelector(quantity.at, `${path}/at`, lesson, studies)];
  });
}

const termsOf = (quantity: Quantity): readonly string[] =>
  'ratio' in quantity ? quantity.ratio : 'difference' in quantity ? quantity.difference : [];

/** Exactly one point of the run is selected. */
function checkSelector(
  { system, params }: PointSelector,
  path: string,
  { scenario }: Lesson,
  studies: StudyRegistry,
): ScenarioProblem[] {
  const selected = expandSweep(scenario, scale, studies.program(scenario.program)).filter(
    (each) =>
      each.system === system && Object.entries(params).every(([name, value]) => each.params[name] === value),
  );
  if (selected.length === 1) return [];
  return [{ path, message: `Selects ${selected.length} points of the run, and must select one` }];
}

function checkGuess({ guess, quantities }: Lesson): ScenarioProblem[] {
  const unknown = checkName(guess.of, '/guess/of', quantities);
  if (guess.kind === 'choice') return [...unknown, ...checkCases(guess.options, '/guess/options')];
  if (guess.min < guess.max) return unknown;
  return [...unknown, { path: '/guess/max', message: `Must be more than min, ${guess.min}` }];
}

function checkSentences(sentences: readonly Sentence[], path: string, lesson: Lesson): ScenarioProblem[] {
  return sentences.flatMap((sentence, index) => {
    const place = `${path}/${index}`;
    if (typeof sentence === 'string') {
      // Otherwise the sentence would appear regardless of the measurements.
      if (sentence.search(named) < 0) return [{ path: place, message: 'Names no quantity' }];
      return checkText(sentence, place, lesson);
    }
    return [
      ...checkName(sentence.by, `${place}/by`, lesson.quantities),
      ...checkCases(sentence.cases, `${place}/cases`),
      ...sentence.cases.flatMap(({ say }, each) => checkText(say, `${place}/cases/${each}/say`, lesson)),
    ];
  });
}

/** Quantities that a text names: `{name}`. */
const named = /\{([^}]*)\}/g;

const checkText = (text: string, path: string, { quantities }: Lesson): ScenarioProblem[] =>
  [...text.matchAll(named)].flatMap(([, name]) => checkName(name!, path, quantities));

const checkName = (name: string, path: string, quantities: Lesson['quantities']): ScenarioProblem[] =>
  Object.hasOwn(quantities, name) ? [] : [{ path, message: `There is no quantity "${name}"` }];

function checkCases(cases: readonly { below?: number }[], path: string): ScenarioProblem[] {
  return cases.flatMap(({ below }, index) => {
    const isLast = index === cases.length - 1;
    const place = `${path}/${index}/below`;
    if (isLast) return below === undefined ? [] : [{ path: place, message: 'The last case has no bound' }];
    if (below === undefined) return [{ path: place, message: 'Only the last case has no bound' }];
    const previous = cases[index - 1]?.below ?? Number.NEGATIVE_INFINITY;
    return below > previous ? [] : [{ path: place, message: `Must be more than ${previous}` }];
  });
}

function checkTime({ scenario }: Lesson, studies: StudyRegistry): ScenarioProblem[] {
  const { estimatedMs } = planFigures(scenario, scale, studies);
  if (estimatedMs <= lessonLimits.runMsMax) return [];
  const message = `Its run would take about ${estimatedMs} ms; the limit is ${lessonLimits.runMsMax}`;
  return [{ path: '/scenario', message }];
}

function invalid(found: ScenarioProblems): LabError {
  return new LabError('LESSON_INVALID', {
    message: problemsInWords('lesson', found),
    details: problemDetails(found),
  });
}
