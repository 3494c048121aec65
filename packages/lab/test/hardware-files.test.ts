import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hardware } from '@shardlab/contract';
import {
  bundledHardwareFolder,
  hardwareSchemaFileName,
  hardwareSchemaText,
  LabError,
  loadHardware,
  parseHardware,
} from '@shardlab/lab';
import { type HardwareFile, resolveHardware, simulate } from '@shardlab/model';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { hardwareText } from '../src/hardware/hardware-text.ts';

const read = (name: string) => readFile(join(bundledHardwareFolder, name), 'utf8');

/** The faults of the hardware file of the white paper's machine after a change. */
async function faultsAfter(change: (hardware: HardwareFile) => void): Promise<string[]> {
  const hardware = JSON.parse(await read('exadata-x4-2.json')) as HardwareFile;
  change(hardware);
  try {
    parseHardware(JSON.stringify(hardware));
    return [];
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    const { errors } = error.details as { errors: { path: string; message: string }[] };
    return errors.map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('hardware files', () => {
  test('the schema that editors use is the one that the contract generates', async () => {
    expect(JSON.parse(await read(hardwareSchemaFileName))).toEqual(JSON.parse(hardwareSchemaText()));
  });

  test("the contract's type is the model's", () => {
    expectTypeOf<Hardware>().toExtend<HardwareFile>();
    expectTypeOf<HardwareFile>().toExtend<Hardware>();
  });

  test('every bundled one is valid, is named by its id, and can be simulated', async () => {
    const names = (await readdir(bundledHardwareFolder)).filter((name) => name !== hardwareSchemaFileName);
    expect(names).toContain('exadata-x4-2.json');
    for (const name of names) {
      const { hardware } = await loadHardware(name.replace('.json', ''), '.');
      expect(hardwareText(hardware)).toBe(await read(name));
      expect(`${hardware.id}.json`).toBe(name);
      const workload = {
        kind: 'sharded' as const,
        instances: 2,
        enqueuers: 4,
        dequeuers: 4,
        subscribers: 1,
        operationsPerTransaction: 10,
        payloadBytes: 512,
      };
      const { ended } = simulate({ costs: resolveHardware(hardware), workload, measureOperations: 5_000 });
      expect(ended).toBe('operations');
    }
  });
});

describe('faults of a hardware file', () => {
  test('name the path and what is expected there', async () => {
    expect(await faultsAfter(({ costs }) => Object.assign(costs.machine, { nodes: 8 }))).toEqual([
      '/costs/machine/nodes: Must be an object with "source", "value", or an object with "source", "parameter", "times"',
    ]);
    expect(await faultsAfter((hardware) => Object.assign(hardware, { colour: 'red' }))).toEqual([
      expect.stringContaining('/colour: Unknown field "colour"'),
    ]);
  });

  test('are found in a parameter that is missing, unused or outside of its bounds', async () => {
    const faults = await faultsAfter(({ costs, parameters }) => {
      costs.interconnectUs = { source: 'fitted', parameter: 'hop', times: 1 };
      costs.maintenance.partitionUs = { source: 'stated', value: 5 };
      parameters.stepUs!.value = 5000;
    });
    expect(faults).toEqual([
      '/costs/interconnectUs/parameter: There is no free parameter "hop"; the parameters are stepUs, hopUs, maintenanceUs',
      '/parameters/stepUs/value: Must be between 0.5 and 1000, not 5000',
      '/parameters/maintenanceUs: No cost depends on this parameter',
    ]);
  });

  test('include a fourth free parameter', async () => {
    const parameter = { value: 1, low: 0.1, high: 10, meaning: 'one too many' };
    expect(
      await faultsAfter(({ parameters }) => void Object.assign(parameters, { fourth: parameter })),
    ).toEqual([expect.stringContaining('/parameters')]);
  });

  test('include text that is not JSON, and a missing file', async () => {
    expect(() => parseHardware('{"id": }')).toThrow(expect.objectContaining({ code: 'HARDWARE_INVALID' }));
    await expect(loadHardware('nowhere', '.')).rejects.toMatchObject({ code: 'HARDWARE_NOT_FOUND' });
  });
});
