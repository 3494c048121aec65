import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Run } from '@shardlab/contract';
import { type Fit, fit } from '@shardlab/model';
import { LabError } from '../errors.ts';
import { hardwareText } from '../hardware/hardware-text.ts';
import { type LoadedHardware, loadHardware } from '../hardware/load-hardware.ts';
import { agreementReport } from '../model/agreement-report.ts';
import { writeSection } from '../model/markdown.ts';
import { agreementWith, predictionsOf, scalingOf } from '../model/model-report.ts';
import { parameterTable, predictionTable, residualTable, scalingTable } from '../model/model-tables.ts';
import { exitCodes } from './exit-codes.ts';

export interface ModelFlags {
  run: string[];
  fit: boolean;
  scale: boolean;
  write?: string | undefined;
}

/**
 * `model <hardware>`: writes its tables to standard output, and with `--write` also into the sections `model-fit`,
 * `model-predictions`, `model-agreement` and `model-scaling` of a document.
 */
export async function modelCommand(target: string, flags: ModelFlags): Promise<number> {
  const base = process.env.INIT_CWD ?? process.cwd();
  const report = async (section: string, text: string) => {
    process.stdout.write(`${text}\n\n`);
    if (flags.write !== undefined) await writeSection(resolve(base, flags.write), section, text);
  };
  let loaded: LoadedHardware;
  try {
    loaded = await loadHardware(target, base);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return exitCodes.usage;
  }
  let { hardware } = loaded;
  process.stdout.write(`${hardware.title}\n${hardware.about}\n\n`);
  if (flags.fit) {
    const found = fitWithProgress(loaded);
    hardware = found.hardware;
    await writeFile(loaded.path, hardwareText(hardware));
    await report('model-fit', `${parameterTable(hardware)}\n\n${residualTable(found.residuals)}`);
  }
  if (hardware.observations.length > 0)
    await report('model-predictions', predictionTable(predictionsOf(hardware)));
  if (flags.run.length > 0) {
    const runs = await Promise.all(flags.run.map((path) => readRun(resolve(base, path))));
    await report(
      'model-agreement',
      agreementReport(
        hardware,
        runs.map((run) => ({ run, agreement: agreementWith(hardware, run) })),
      ),
    );
  }
  if (flags.scale) await report('model-scaling', scalingTable(scalingOf(hardware)));
  return exitCodes.done;
}

function fitWithProgress({ hardware }: LoadedHardware): Fit {
  return fit(hardware, hardware.observations, {
    onProgress: (evaluations, error) => {
      if (evaluations % 10 !== 0) return;
      process.stderr.write(`${evaluations} evaluations, error ${(error * 100).toFixed(1)} %\n`);
    },
  });
}

/** Reads a run that `run --json` wrote. */
async function readRun(path: string): Promise<Run> {
  return JSON.parse(await readFile(path, 'utf8')) as Run;
}
