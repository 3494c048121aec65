/**
 * The parameters of a run's points and ticks where it comes from outside: an upload, a file. The programs' own functions, such as
 * `queueParamsOf`, only give them their types.
 */
import {
  type Combination,
  type ExportedRun,
  faultsListedMax,
  findFaults,
  pointKey,
} from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { problemDetails, problemsInWords, type ScenarioProblem } from '../errors/scenario-problems.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

/**
 * Throws `RUN_INVALID` if a point or a tick names a program that does not exist, or a parameter has a value that its program does not
 * allow; `details.errors` lists the faults with their JSON pointers. A missing parameter is not a fault: a run of an older version has
 * the parameters of that version.
 */
export function assertRunParams(
  { points, ticks = [] }: Pick<ExportedRun, 'points' | 'ticks'>,
  { programs }: Pick<StudyRegistry, 'programs'> = bundledStudies,
): void {
  const faults: ScenarioProblem[] = [];
  for (const [place, { program: id, params }] of [...placed('points', points), ...combinationsOf(ticks)]) {
    const program = programs.find((each) => each.id === id);
    if (program === undefined) {
      faults.push({ path: `${place}/program`, message: `There is no program "${id}"` });
      continue;
    }
    for (const { name, schema } of program.parameters) {
      if (params[name] === undefined) continue;
      for (const { path, message } of findFaults(schema, params[name]).faults)
        faults.push({ path: `${place}/params/${name}${path}`, message });
    }
    if (faults.length > faultsListedMax) break;
  }
  if (faults.length === 0) return;
  const found = { faults: faults.slice(0, faultsListedMax), more: faults.length > faultsListedMax };
  throw new LabError('RUN_INVALID', {
    message: problemsInWords('run', found),
    details: problemDetails(found),
  });
}

type PlacedCombination = readonly [place: string, combination: Combination];

const placed = (list: string, combinations: readonly Combination[]): PlacedCombination[] =>
  combinations.map((each, index) => [`/${list}/${index}`, each]);

/** The first tick of each combination: a trial has hundreds, with the same parameters. */
function combinationsOf(ticks: readonly Combination[]): PlacedCombination[] {
  const byKey = new Map<string, PlacedCombination>();
  for (const each of placed('ticks', ticks)) {
    const key = pointKey(each[1]);
    if (!byKey.has(key)) byKey.set(key, each);
  }
  return [...byKey.values()];
}
