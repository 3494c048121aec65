/** The process of a calibration. Started by `calibrate-in-process.ts`; ends with its parent. */

import { calibrate } from './calibrate.ts';
import type { CalibrationOrder, CalibrationReport } from './calibrate-in-process.ts';

const report = (message: CalibrationReport) => process.send?.(message);

process.once('message', async (order: CalibrationOrder) => {
  try {
    const hardware = await calibrate({
      ...order,
      onProgress: (progress) => report({ type: 'progress', progress }),
    });
    report({ type: 'done', hardware });
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    report({ type: 'failed', message, stack });
  }
});
process.on('disconnect', () => process.exit(0));
