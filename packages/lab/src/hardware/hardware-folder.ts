/** The folder of hardware files: one JSON file each, and the schema that editors use. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HardwareFile } from '@shardlab/model';
import { LabError } from '../errors/errors.ts';
import { bundledScenarioFolder } from '../scenario/scenario-folder.ts';
import { parseHardware } from './parse-hardware.ts';

export const bundledHardwareFolder = join(bundledScenarioFolder, 'hardware');

export const hardwareSchemaFileName = 'hardware.schema.json';

/** The id of the file that a calibration writes by default. */
export const calibratedId = 'this-machine';

/** Reads every hardware file of a folder, sorted by file name. Invalid files are returned as errors, not thrown. */
export async function readHardwareFolder(
  folder: string = bundledHardwareFolder,
): Promise<{ file: string; read: HardwareFile | LabError }[]> {
  const names = (await readdir(folder)).filter(
    (name) => name.endsWith('.json') && name !== hardwareSchemaFileName,
  );
  return Promise.all(
    names.sort().map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      try {
        return { file, read: parseHardware(text) };
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        return { file, read: error };
      }
    }),
  );
}
