/** Writes the JSON Schemas of `scenarios/` from the contract: `node packages/lab/src/write-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledHardwareFolder, hardwareSchemaFileName } from './hardware/hardware-folder.ts';
import { bundledScenarioFolder, schemaFileName } from './scenario/scenario-folder.ts';
import { hardwareSchemaText, scenarioSchemaText } from './scenario/schema-text.ts';

await writeFile(join(bundledScenarioFolder, schemaFileName), scenarioSchemaText());
await writeFile(join(bundledHardwareFolder, hardwareSchemaFileName), hardwareSchemaText());
