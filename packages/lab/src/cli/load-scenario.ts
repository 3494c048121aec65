/** Finds the scenario that an argument names, and prints what is wrong with it. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Scenario } from '@shardlab/contract';
import { LabError } from '../errors.ts';
import { type ParsedScenario, parseScenario } from '../scenario/parse-scenario.ts';
import { readScenarioFolder } from '../scenario/scenario-folder.ts';

/** A path, relative to where the command was called, or the id of a scenario that comes with the lab. */
export async function loadScenario(nameOrPath: string): Promise<ParsedScenario> {
  if (/^[a-z0-9-]+$/.test(nameOrPath)) {
    for (const { parsed } of await readScenarioFolder()) {
      if (parsed.ok && parsed.scenario.id === nameOrPath) return parsed;
    }
  }
  // npm runs scripts in the package's folder and keeps the caller's in INIT_CWD.
  const base = process.env.INIT_CWD ?? process.cwd();
  try {
    return parseScenario(await readFile(resolve(base, nameOrPath), 'utf8'));
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const sentence =
      code === 'ENOENT'
        ? `There is no scenario "${nameOrPath}": neither a file of this name nor an id of scenarios/`
        : `The scenario "${nameOrPath}" cannot be read: ${(cause as Error).message}`;
    throw new LabError('SCENARIO_NOT_FOUND', { sentence, details: { scenario: nameOrPath }, cause });
  }
}

/** The scenario, or null after its faults were printed. */
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
  for (const { path, message } of parsed.faults)
    process.stderr.write(`  ${path || '(document)'}: ${message}\n`);
  return null;
}
