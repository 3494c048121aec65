import { setTimeout as pause } from 'node:timers/promises';
import { MachineState } from '@shardlab/contract';
import type { CalibrationService } from '../calibration/calibration-service.ts';
import type { App } from '../http/app-types.ts';
import { limits } from '../limits.ts';
import type { LoadService } from '../load/load-service.ts';
import { type CpuTimes, coresBusy } from '../machine-cpu.ts';
import type { RunService } from '../runs/run-service.ts';

export interface MachineRoutesOptions {
  runs: Pick<RunService, 'underWay'>;
  loads: Pick<LoadService, 'load'>;
  calibrations: Pick<CalibrationService, 'isRunning'>;
  cpu: () => CpuTimes;
}

/** Asked before a run is started by hand: what else uses the machine would be measured with it. */
export function machineRoutes(app: App, { runs, loads, calibrations, cpu }: MachineRoutesOptions): void {
  app.get(
    '/api/machine',
    {
      schema: {
        summary: 'What a measurement that begins now would share the machine with',
        tags: ['runs'],
        response: { 200: MachineState },
      },
    },
    async () => {
      const before = cpu();
      await pause(limits.machineWatchedMs);
      return {
        cores: before.cores,
        coresBusy: coresBusy(before, cpu()),
        loadRunning: loads.load !== null && !loads.load.isOver,
        runsUnderWay: runs.underWay,
        calibrating: calibrations.isRunning,
      };
    },
  );
}
