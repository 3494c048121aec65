import { CalibrationAnswer, StartCalibration } from '@shardlab/contract';
import type { CalibrationService } from '../calibration/calibration-service.ts';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';
import { refusals } from '../http/refusals.ts';

const tags = ['model'];
const url = '/api/calibration';
const response = { 200: CalibrationAnswer };

/** The costs that a calibration measures are one of the machines of `/api/hardware`. */
export function calibrationRoutes(app: App, { calibrations }: { calibrations: CalibrationService }): void {
  app.post(
    url,
    {
      preValidation: allowNoBody,
      schema: {
        summary: "Measure the costs of the engine's work on this machine, for the model",
        tags,
        body: StartCalibration,
        response: { 202: CalibrationAnswer, ...refusals(409) },
      },
    },
    async (request, reply) => {
      calibrations.start(request.body);
      return reply.code(202).send(calibrations.answer());
    },
  );
  app.get(url, { schema: { summary: 'The latest calibration', tags, response } }, async () =>
    calibrations.answer(),
  );
  app.delete(
    url,
    {
      schema: { summary: 'Cancel the calibration; the costs measured before stay', tags, response },
    },
    async () => {
      await calibrations.cancel();
      return calibrations.answer();
    },
  );
}
