/** Writes `scenarios/scenario.schema.json` from the contract: `node packages/lab/src/write-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledScenarioFolder, schemaFileName } from './scenario/scenario-folder.ts';
import { scenarioSchemaText } from './scenario/schema-text.ts';

await writeFile(join(bundledScenarioFolder, schemaFileName), scenarioSchemaText());
