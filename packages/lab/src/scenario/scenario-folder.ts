/** Folders of scenarios: one JSON file each, and the schema that editors use. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { type ParsedScenario, parseScenario } from './parse-scenario.ts';

/** Scenarios for users, of all studies that come with the lab. */
export const bundledScenarioFolder = fileURLToPath(new URL('../../../../scenarios/', import.meta.url));

export const schemaFileName = 'scenario.schema.json';

export interface ScenarioFile {
  file: string;
  parsed: ParsedScenario;
}

/**
 * Reads all built-in scenarios: those of `scenarios/`, then those that studies bring in their own folders (`<study>/scenarios/`). `file`
 * has the name of the folder too.
 */
export async function readScenarios(studies: StudyRegistry = bundledStudies): Promise<ScenarioFile[]> {
  const own = (studies.folders ?? []).flatMap((folder) =>
    studies.studies.map(({ id }) => ({ name: `${id}/scenarios`, path: new URL(`${id}/scenarios/`, folder) })),
  );
  const folders = [
    { name: 'scenarios', path: bundledScenarioFolder },
    ...own
      .filter(({ path }) => existsSync(path))
      .map(({ name, path }) => ({ name, path: fileURLToPath(path) })),
  ];
  const read = folders.map(async ({ name, path }) =>
    (await readScenarioFolder(path, studies)).map(({ file, parsed }) => ({
      file: `${name}/${file}`,
      parsed,
    })),
  );
  return (await Promise.all(read)).flat();
}

/** Reads every scenario of a folder, sorted by file name. Invalid files are returned as errors, not thrown. */
export async function readScenarioFolder(
  folder: string = bundledScenarioFolder,
  studies: StudyRegistry = bundledStudies,
): Promise<ScenarioFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && name !== schemaFileName);
  return Promise.all(
    names
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true })) // Figure 10 after Figure 9
      .map(async (file) => ({
        file,
        parsed: parseScenario(await readFile(join(folder, file), 'utf8'), studies),
      })),
  );
}
