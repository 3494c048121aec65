/** Checks of every scenario that a schema cannot express: its size, its names, and consistency between its fields. */
import { nearestName, type Scenario, scenarioLimits } from '@shardlab/contract';
import type { ScenarioProblem } from '../errors/scenario-problems.ts';
import { combinationCount, scaleScenario, scalesOf } from '../programs/expand-sweep.ts';
import type { Program } from '../programs/program.ts';
import type { StudyRegistry } from '../studies/registry.ts';

/** A longer run is probably a typing error. */
const runMsMax = 24 * 60 * 60_000;

/** The faults of a scenario that matches the schema of its program; empty if it can run. */
export function crossCheckScenario(scenario: Scenario, studies: StudyRegistry): ScenarioProblem[] {
  const program = studies.program(scenario.program);
  const missing = checkParameters(scenario, program);
  return [
    ...checkStudy(scenario, studies),
    ...checkClaims(scenario, studies),
    ...missing,
    ...checkSize(scenario),
    ...checkSweepOf(scenario),
    ...checkQuick(scenario),
    ...checkReferences(scenario),
    // They read values that may be missing.
    ...(missing.length > 0 ? [] : program.check(scenario)),
  ];
}

/** Each parameter has its value or values in one place. */
function checkParameters({ parameters, sweep }: Scenario, program: Program): ScenarioProblem[] {
  return program.parameters.flatMap(({ name, default: usual, optional }) => {
    const [isSingle, isSwept] = [parameters[name] !== undefined, sweep[name] !== undefined];
    if (isSingle && isSwept)
      return [{ path: `/sweep/${name}`, message: 'Is in "parameters" too; a parameter has one place' }];
    if (isSingle || isSwept || usual !== undefined || optional) return [];
    const message = `Is missing: give "${name}" here, or several values of it in "sweep"`;
    return [{ path: `/parameters/${name}`, message }];
  });
}

function checkStudy({ study }: Scenario, { studies }: StudyRegistry): ScenarioProblem[] {
  const ids = studies.map(({ id }) => id);
  if (study === undefined || ids.includes(study)) return [];
  return [
    {
      path: '/study',
      message: `There is no study "${study}"; the studies are ${ids.join(', ')}${hint(study, ids)}`,
    },
  ];
}

function hint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '' : `; did you mean "${nearest}"?`;
}

function checkClaims(scenario: Scenario, studies: StudyRegistry): ScenarioProblem[] {
  const { claimIds } = studies;
  return scenario.claims.flatMap((id, index) => {
    const path = `/claims/${index}`;
    const study = studies.studyOf(id);
    if (study === undefined) {
      const claims = claimIds.join(', ');
      return [{ path, message: `There is no claim "${id}"; the claims are ${claims}${hint(id, claimIds)}` }];
    }
    if (scenario.study === undefined || scenario.study === study.id) return [];
    const message = `${id} is a claim of the study "${study.id}", but the scenario belongs to "${scenario.study}"`;
    return [{ path, message }];
  });
}

function checkSize(scenario: Scenario): ScenarioProblem[] {
  const faults: ScenarioProblem[] = [];
  for (const scale of scalesOf(scenario)) {
    const path = scale === 'full' ? '/sweep' : '/quick/sweep';
    const scaled = scaleScenario(scenario, scale);
    const { phases, repeats } = scaled;
    const points = combinationCount(scaled);
    if (points > scenarioLimits.pointsMax) {
      faults.push({
        path,
        message: `The sweep has ${number(points)} combinations; the limit is ${number(scenarioLimits.pointsMax)}`,
      });
    }
    const ms = points * repeats * (phases.warmupMs + phases.measureMs);
    if (ms > runMsMax) {
      faults.push({
        path: scale === 'full' ? '/phases' : '/quick/phases',
        message: `The run would take ${number(Math.round(ms / 3_600_000))} hours (combinations × repeats × phases); the limit is 24`,
      });
    }
  }
  return faults;
}

function checkSweepOf({ systems, sweep, sweepOf = {} }: Scenario): ScenarioProblem[] {
  return Object.entries(sweepOf).flatMap(([system, axes]) => {
    const path = `/sweepOf/${system}`;
    if (!systems.includes(system))
      return [{ path, message: `"${system}" is not one of the systems${hint(system, systems)}` }];
    return Object.entries(axes).flatMap(([axis, values]) => {
      const all = sweep[axis];
      if (all === undefined) {
        const message = 'The sweep does not have this axis; a system can only have fewer values of it';
        return [{ path: `${path}/${axis}`, message }];
      }
      return values.flatMap((value, index) =>
        all.includes(value)
          ? []
          : [
              {
                path: `${path}/${axis}/${index}`,
                message: `Must be one of the values of the sweep, ${all.join(', ')}, not ${value}`,
              },
            ],
      );
    });
  });
}

function checkQuick(scenario: Scenario): ScenarioProblem[] {
  const { quick } = scenario;
  if (quick === undefined) return [];
  const faults: ScenarioProblem[] = [];
  for (const [index, system] of (quick.systems ?? []).entries()) {
    const message = problemOfQuick(system, scenario.systems);
    if (message !== null) faults.push({ path: `/quick/systems/${index}`, message });
  }
  for (const [axis, values] of Object.entries(quick.sweep ?? {})) {
    const fullValues = scenario.sweep[axis];
    if (fullValues === undefined) {
      faults.push({
        path: `/quick/sweep/${axis}`,
        message: 'The full sweep does not have this axis; quick can only narrow the full sweep',
      });
      continue;
    }
    for (const [index, value] of values.entries()) {
      const message = problemOfQuick(value, fullValues);
      if (message !== null) faults.push({ path: `/quick/sweep/${axis}/${index}`, message });
    }
  }
  const full = combinationCount(scenario);
  const points = combinationCount(scaleScenario(scenario, 'quick'));
  if (points > full) {
    faults.push({
      path: '/quick/sweep',
      message: `The quick sweep has ${points} combinations, more than the full sweep (${full})`,
    });
  }
  return faults;
}

/** A number must be in the range of the full sweep; a name must be one of its values. */
function problemOfQuick(value: number | string, full: readonly (number | string)[]): string | null {
  const numbers = full.filter((each) => typeof each === 'number');
  if (typeof value === 'string') {
    return full.includes(value)
      ? null
      : `"${value}" is not in the full sweep; quick can only narrow the full sweep`;
  }
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return value >= low && value <= high
    ? null
    : `Must be in the range of the full sweep, ${low} to ${high}, not ${value}`;
}

function checkReferences(scenario: Scenario): ScenarioProblem[] {
  return (scenario.references ?? []).flatMap((reference, index) =>
    scenario.systems.includes(reference.system)
      ? []
      : [
          {
            path: `/references/${index}/system`,
            message: `"${reference.system}" is not one of the systems, so there would be nothing to compare the reference with`,
          },
        ],
  );
}

const number = (value: number) => value.toLocaleString('en-US');
