/** A folder of scenarios: one JSON file each, and the schema that editors use. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { type ParsedScenario, parseScenario } from './parse-scenario.ts';

/** The built-in scenarios. */
export const bundledScenarioFolder = fileURLToPath(new URL('../../../../scenarios/', import.meta.url));

export const schemaFileName = 'scenario.schema.json';

/** Reads every scenario of a folder, sorted by file name. Invalid files are returned as errors, not thrown. */
export async function readScenarioFolder(
  folder: string = bundledScenarioFolder,
  studies: StudyRegistry = bundledStudies,
): Promise<{ file: string; parsed: ParsedScenario }[]> {
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
