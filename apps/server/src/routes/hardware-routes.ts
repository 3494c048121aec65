import { HardwareList } from '@shardlab/contract';
import { LabError, readHardwareFolder } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';

/** The files are read at each call, because a calibration may have written one meanwhile. An invalid file is left out and logged. */
export function hardwareRoutes(app: App): void {
  app.get(
    '/api/hardware',
    {
      schema: {
        summary: 'The machines that the model can simulate, with the source of each cost',
        tags: ['scenarios'],
        response: { 200: HardwareList },
      },
    },
    async (request) => {
      const files = await readHardwareFolder();
      return {
        hardware: files.flatMap(({ file, read }) => {
          if (!(read instanceof LabError)) return [read];
          request.log.warn(`scenarios/hardware/${file}: ${read.message}`);
          return [];
        }),
      };
    },
  );
}
