import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { type Run, withoutByteOrderMark } from '@shardlab/contract';
import {
  countSources,
  type Fit,
  fit,
  followsFromStructure,
  type HardwareFile,
  holdsOverDrawnCosts,
  type StructureCount,
  sourcesInWords,
} from '@shardlab/model';
import { LabError } from '../errors/errors.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { fileFault } from '../errors/writable-place.ts';
import { hardwareText } from '../hardware/hardware-text.ts';
import { type LoadedHardware, loadHardware } from '../hardware/load-hardware.ts';
import { agreementReport } from '../model/agreement-report.ts';
import { assertSection, writeSection } from '../model/markdown.ts';
import { agreementWith, predictionsOf, scalingOf } from '../model/model-report.ts';
import { parameterTable, predictionTable, residualTable, scalingTable } from '../model/model-tables.ts';
import { pointsOf, readRecorded } from '../recorded/recorded-run.ts';
import { assertRunParams } from '../run/run-params.ts';
import { callersFolder, fromCaller, writeJson } from './folders.ts';

export interface ModelFlags {
  run: string[];
  fit: boolean;
  /** Judges the predictions again with drawn costs: some minutes of CPU. */
  structure: boolean;
  scale: boolean;
  json?: string | undefined;
  write?: string | undefined;
}

/**
 * `model <hardware>`: writes its tables to standard output, and with `--write` also into the sections `model-fit`,
 * `model-predictions`, `model-agreement` and `model-scaling` of a document. With `--json` the predictions and the
 * comparisons are written to a file too.
 */
export async function modelCommand(target: string, flags: ModelFlags): Promise<number> {
  const report = async (section: string, text: string) => {
    process.stdout.write(`${text}\n\n`);
    if (flags.write !== undefined) await writeSection(fromCaller(flags.write), section, text);
  };
  let loaded: LoadedHardware;
  let runs: Run[];
  try {
    loaded = await loadHardware(target, callersFolder());
    runs = await Promise.all(flags.run.map(readRun));
    if (flags.write !== undefined)
      for (const section of sectionsOf(flags, loaded)) await assertSection(fromCaller(flags.write), section);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return exitCodes.usage;
  }
  const fault = flags.fit ? fileFault(loaded.path) : undefined;
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    return exitCodes.usage;
  }
  let { hardware } = loaded;
  process.stdout.write(`${hardware.title}\n${hardware.about} ${sourcesInWords(hardware)}\n\n`);
  const found: Record<string, unknown> = { hardware: hardware.id, sources: countSources(hardware) };
  if (flags.fit) {
    const fitted = fitWithProgress(loaded);
    hardware = fitted.hardware;
    await writeFile(loaded.path, hardwareText(hardware));
    await report('model-fit', `${parameterTable(hardware)}\n\n${residualTable(fitted.residuals)}`);
  }
  if (hardware.observations.length > 0) {
    const predictions = predictionsOf(hardware);
    const structure = flags.structure ? drawWithProgress(hardware) : null;
    found.predictions = predictions.map((prediction) => {
      const count = structure?.find(({ claim }) => claim === prediction.claim);
      return count === undefined
        ? prediction
        : { ...prediction, drawnCosts: count, followsFromStructure: followsFromStructure(count) };
    });
    await report(
      'model-predictions',
      `${sourcesInWords(hardware)}\n\n${predictionTable(predictions, structure)}`,
    );
  }
  if (runs.length > 0) {
    const compared = runs.map((run) => ({ run, rows: agreementWith(hardware, run) }));
    found.agreement = compared.map(({ run, rows }) => ({ scenario: run.scenario.id, rows }));
    await report('model-agreement', agreementReport(hardware, compared));
  }
  if (flags.scale) await report('model-scaling', scalingTable(scalingOf(hardware)));
  if (flags.json !== undefined) await writeJson(flags.json, found);
  return exitCodes.done;
}

/** The sections that the command will write. */
function sectionsOf({ fit, run, scale }: ModelFlags, { hardware }: LoadedHardware): string[] {
  const sections = {
    'model-fit': fit,
    'model-predictions': hardware.observations.length > 0,
    'model-agreement': run.length > 0,
    'model-scaling': scale,
  };
  return Object.entries(sections).flatMap(([section, isWritten]) => (isWritten ? [section] : []));
}

function fitWithProgress({ hardware }: LoadedHardware): Fit {
  return fit(hardware, hardware.observations, {
    onProgress: (evaluations, error) => {
      if (evaluations % 10 !== 0) return;
      process.stderr.write(`${evaluations} evaluations, error ${(error * 100).toFixed(1)} %\n`);
    },
  });
}

function drawWithProgress(hardware: HardwareFile): StructureCount[] {
  return holdsOverDrawnCosts(hardware, {
    onProgress: (draws) => {
      if (draws % 20 === 0) process.stderr.write(`${draws} draws of costs\n`);
    },
  });
}

/**
 * Reads a run that `run --json` wrote, or the recorded run of a scenario. Rejects with `RUN_NOT_FOUND` if there is neither, and with
 * `RUN_INVALID` if its points are not what their programs measure.
 */
async function readRun(named: string): Promise<Run> {
  const path = fromCaller(named);
  if (existsSync(path)) {
    const run = JSON.parse(withoutByteOrderMark(await readFile(path, 'utf8'))) as Run;
    assertRunParams(run);
    return run;
  }
  const recorded = await readRecorded(named);
  if (recorded !== undefined) return { ...recorded.run, points: pointsOf(recorded) };
  throw new LabError('RUN_NOT_FOUND', {
    message: `There is no file ${named}, and no scenario of this name is recorded`,
  });
}
