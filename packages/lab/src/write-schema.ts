/** Writes the JSON Schemas of `scenarios/` from the contract: `node packages/lab/src/write-schema.ts`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundledHardwareFolder, hardwareSchemaFileName } from './hardware/hardware-folder.ts';
import { bundledScenarioFolder, schemaFileName } from './scenario/scenario-folder.ts';
import { hardwareSchemaText, scenarioSchemaText } from './scenario/scenario-schema.ts';
import { bundledStudies } from './studies/registry.ts';

await writeFile(join(bundledScenarioFolder, schemaFileName), scenarioSchemaText(bundledStudies.programs));
await writeFile(join(bundledHardwareFolder, hardwareSchemaFileName), hardwareSchemaText());
