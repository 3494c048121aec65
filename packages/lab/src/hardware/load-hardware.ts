import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { HardwareFile } from '@shardlab/model';
import { LabError } from '../errors/errors.ts';
import { bundledHardwareFolder } from './hardware-folder.ts';
import { parseHardware } from './parse-hardware.ts';

export interface LoadedHardware {
  path: string;
  hardware: HardwareFile;
}

/**
 * Loads a file by path, relative to `base`, or by an id from `scenarios/hardware/`. Throws `HARDWARE_NOT_FOUND` or
 * `HARDWARE_INVALID`.
 */
export async function loadHardware(nameOrPath: string, base: string): Promise<LoadedHardware> {
  const isId = /^[a-z0-9-]+$/.test(nameOrPath);
  const path = isId ? join(bundledHardwareFolder, `${nameOrPath}.json`) : resolve(base, nameOrPath);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new LabError('HARDWARE_NOT_FOUND', {
      message: `The hardware file "${nameOrPath}" cannot be read: ${(cause as Error).message}`,
      details: { hardware: nameOrPath },
      cause,
    });
  }
  return { path, hardware: parseHardware(text) };
}
