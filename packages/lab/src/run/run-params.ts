/**
 * The parameters of a run's points where it comes from outside: an upload, a file. The programs' own functions, such as
 * `queueParamsOf`, only give them their types.
 */
import { faultsListedMax, findFaults, type Run } from '@shardlab/contract';
import { LabError } from '../errors.ts';
import { problemDetails, problemsInWords, type ScenarioProblem } from '../scenario/scenario-problems.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

/**
 * Throws `RUN_INVALID` if a point is of a program that there is not, or a parameter is not what its program allows;
 * `details.errors` lists the faults with their JSON pointers. A parameter that is missing is none: a run of an older version has
 * those of its time.
 */
export function assertRunParams(
  { points }: Pick<Run, 'points'>,
  { programs }: Pick<StudyRegistry, 'programs'> = bundledStudies,
): void {
  const faults: ScenarioProblem[] = [];
  for (const [index, { program: id, params }] of points.entries()) {
    const program = programs.find((each) => each.id === id);
    if (program === undefined) {
      faults.push({ path: `/points/${index}/program`, message: `There is no program "${id}"` });
      continue;
    }
    for (const { name, schema } of program.parameters) {
      if (params[name] === undefined) continue;
      for (const { path, message } of findFaults(schema, params[name]).faults)
        faults.push({ path: `/points/${index}/params/${name}${path}`, message });
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
