/** Finds the scenario that an argument names, and prints its faults. */
import { readFile } from 'node:fs/promises';
import { faultInWords, type Scenario } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { readLessonFolder } from '../lessons/lesson-folder.ts';
import { type ParsedScenario, parseScenario } from '../scenario/parse-scenario.ts';
import { readScenarios } from '../scenario/scenario-folder.ts';
import { fromCaller } from './folders.ts';

/** Loads a scenario by path, relative to the caller's folder, or by the id of a built-in scenario or of a lesson's. */
export async function loadScenario(nameOrPath: string): Promise<ParsedScenario> {
  if (/^[a-z0-9-]+$/.test(nameOrPath)) {
    for (const { parsed } of await readScenarios()) {
      if (parsed.ok && parsed.scenario.id === nameOrPath) return parsed;
    }
    for (const { read } of await readLessonFolder()) {
      if (!(read instanceof LabError) && read.scenario.id === nameOrPath)
        return { ok: true, scenario: read.scenario };
    }
  }
  try {
    return parseScenario(await readFile(fromCaller(nameOrPath), 'utf8'));
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const sentence =
      code === 'ENOENT'
        ? `There is no scenario "${nameOrPath}": neither a file with this name nor a built-in scenario with this id`
        : `The scenario "${nameOrPath}" cannot be read: ${(cause as Error).message}`;
    throw new LabError('SCENARIO_NOT_FOUND', { message: sentence, details: { scenario: nameOrPath }, cause });
  }
}

/** Returns the scenario, or prints its faults and returns null. */
export async function loadOrExplain(nameOrPath: string): Promise<Scenario | null> {
  let parsed: ParsedScenario;
  try {
    parsed = await loadScenario(nameOrPath);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return null;
  }
  if (parsed.ok) return parsed.scenario;
  process.stderr.write(
    `${nameOrPath} has ${parsed.faults.length === 1 ? 'a fault' : `${parsed.faults.length} faults`}:\n`,
  );
  for (const fault of parsed.faults) {
    const path = fault.path === '' ? '(document)' : fault.path;
    process.stderr.write(`  ${faultInWords({ ...fault, path })}\n`);
  }
  const { translation } = parsed.error.details;
  if (translation !== undefined) process.stderr.write(`${JSON.stringify(translation, null, 2)}\n`);
  return null;
}
