import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type CalibrationProgress, calibrate } from '../calibrate/calibrate.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { hardwareText } from '../hardware/hardware-text.ts';
import { dataFolder, fromCaller } from './folders.ts';
import { calibratedPath } from './places.ts';

export interface CalibrateFlags {
  json?: string | undefined;
  'data-dir'?: string | undefined;
}

/** `calibrate`: writes `scenarios/hardware/this-machine.json`, or another file. */
export async function calibrateCommand(flags: CalibrateFlags): Promise<number> {
  const path = flags.json === undefined ? calibratedPath : fromCaller(flags.json);
  const hardware = await calibrate({
    onProgress: tellSubjects(),
    dataDir: dataFolder(flags['data-dir']),
  });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, hardwareText(hardware));
  process.stdout.write(`${hardware.title}\n${hardware.about}\nWritten to ${path}\n`);
  return exitCodes.done;
}

/** A line for each thing that is measured. */
function tellSubjects(): (progress: CalibrationProgress) => void {
  let told = '';
  return ({ what }) => {
    if (what !== told) process.stderr.write(`measuring ${what}\n`);
    told = what;
  };
}
