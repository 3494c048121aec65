/** Where the hardware files lie that come with the lab: one JSON file each, beside the schema that editors use. */
import { join } from 'node:path';
import { bundledScenarioFolder } from '../scenario/scenario-folder.ts';

export const bundledHardwareFolder = join(bundledScenarioFolder, 'hardware');

export const hardwareSchemaFileName = 'hardware.schema.json';

/** What a calibration writes unless told otherwise. */
export const calibratedId = 'this-machine';
