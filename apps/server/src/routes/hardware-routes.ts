import { type Hardware, HardwareList } from '@shardlab/contract';
import { calibratedId, LabError, readHardwareFolder } from '@shardlab/lab';
import type { FastifyBaseLogger } from 'fastify';
import { type CalibrationService, isHardwareFault } from '../calibration/calibration-service.ts';
import type { App } from '../http/app-types.ts';

/**
 * The files are read at each call, because a calibration may have written one since. An invalid file is left out and logged. This
 * machine can have been calibrated by the command line and by this server: the later one counts.
 */
export function hardwareRoutes(
  app: App,
  { calibrations }: { calibrations: Pick<CalibrationService, 'hardware'> },
): void {
  app.get(
    '/api/hardware',
    {
      schema: {
        summary: 'The machines that the model can simulate, with the source of each cost',
        tags: ['model'],
        response: { 200: HardwareList },
      },
    },
    async ({ log }) => {
      const bundled = await readBundled(log);
      const here = await readCalibrated(calibrations, log);
      if (here === null) return { hardware: bundled };
      const other = bundled.find(({ id }) => id === calibratedId);
      if ((other?.calibratedAtMs ?? 0) > (here.calibratedAtMs ?? 0)) return { hardware: bundled };
      return { hardware: [here, ...bundled.filter(({ id }) => id !== here.id)] };
    },
  );
}

async function readBundled(log: FastifyBaseLogger): Promise<Hardware[]> {
  const files = await readHardwareFolder();
  return files.flatMap(({ file, read }) => {
    if (!(read instanceof LabError)) return [read];
    log.warn(`scenarios/hardware/${file}: ${read.message}`);
    return [];
  });
}

async function readCalibrated(
  calibrations: Pick<CalibrationService, 'hardware'>,
  log: FastifyBaseLogger,
): Promise<Hardware | null> {
  try {
    return await calibrations.hardware();
  } catch (error) {
    if (!isHardwareFault(error)) throw error;
    log.warn(`${calibratedId}.json in the data folder: ${error.message}`);
    return null;
  }
}
