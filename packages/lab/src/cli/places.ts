/** What a command will write, by its arguments. */
import { join } from 'node:path';
import { fileFault, folderFault } from '../errors/writable-place.ts';
import { bundledHardwareFolder, calibratedId } from '../hardware/hardware-folder.ts';
import { dataFolder, fromCaller } from './folders.ts';

interface PlaceFlags {
  json?: string | undefined;
  write?: string | undefined;
  into?: string | undefined;
  'data-dir'?: string | undefined;
  recorded: boolean;
  'judge-only': boolean;
}

/** Commands that keep data beside their result, in the folder of `--data-dir`. */
const measuring = ['run', 'study', 'record', 'calibrate', 'pairs'];

/** Why a place cannot be written, as a sentence; undefined if all can be. */
export function placesFault(
  [command = '', ...targets]: readonly string[],
  flags: PlaceFlags,
): string | undefined {
  const json = flags.json ?? (command === 'calibrate' ? calibratedPath : undefined);
  const isFolder = command === 'study' || (command === 'run' && targets.length > 1);
  const measures = measuring.includes(command) && !flags.recorded && !flags['judge-only'];
  const faults = [
    json === undefined ? undefined : isFolder ? folderFault(fromCaller(json)) : fileFault(fromCaller(json)),
    flags.write === undefined ? undefined : fileFault(fromCaller(flags.write)),
    flags.into === undefined ? undefined : folderFault(fromCaller(flags.into)),
    measures ? folderFault(dataFolder(flags['data-dir'])) : undefined,
  ];
  return faults.find((fault) => fault !== undefined);
}

export const calibratedPath = join(bundledHardwareFolder, `${calibratedId}.json`);
