/** The options with which an instance emulates the hardware of a trial. */
import { join } from 'node:path';
import type { InstanceOptions } from '@shardlab/engine';
import { syncTimesOf, type XaParams } from './xa-params.ts';

export function emulationOf(dir: string, params: XaParams): Partial<InstanceOptions> {
  const { syncMs, redo, interconnectMs } = params;
  return {
    ...(syncMs === 0 ? {} : { emulatedSyncMs: syncTimesOf(params) }),
    ...(syncMs === 0 || redo === 'own' ? {} : { emulatedSyncDevice: join(dir, 'emulated-redo') }),
    ...(interconnectMs === 0 ? {} : { emulatedInterconnectMs: interconnectMs }),
  };
}
