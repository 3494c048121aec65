/** A calibration in its smallest form. These tests check that it measures every cost and leaves nothing behind, not how large costs are. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CalibrationProgress, calibrateInProcess, parseHardware } from '@shardlab/lab';
import { sourcesOf } from '@shardlab/model';
import { afterEach, beforeEach, expect, test } from 'vitest';
// These are not part of the packages' public entries.
import { limits } from '../../engine/src/api/limits.ts';
import { resumedOperationsPerTurnMax } from '../../model/src/sim/group-commit.ts';
import { measureClient } from '../src/calibrate/client-costs.ts';
import { engineBuild } from '../src/calibrate/hardware-from-measurements.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a calibration makes a good hardware file and leaves nothing behind', { timeout: 120_000 }, async () => {
  const told: CalibrationProgress[] = [];
  const hardware = await calibrateInProcess({
    dataDir: folder,
    sliceMs: 15,
    rounds: 1,
    onProgress: (progress) => told.push(progress),
  });
  expect(parseHardware(JSON.stringify(hardware))).toEqual(hardware);
  expect(hardware.parameters).toEqual({});
  const measured = sourcesOf(hardware.costs).filter(({ leaf }) => leaf.source === 'measured');
  expect(measured.length).toBeGreaterThan(20);
  for (const { path, leaf } of measured) {
    if (leaf.source === 'measured') expect([path, Number.isFinite(leaf.value)]).toEqual([path, true]);
  }
  expect(Math.abs(Date.now() - hardware.calibratedAtMs!)).toBeLessThan(120_000);
  expect(new Set(told.map(({ what }) => what)).size).toBe(5);
  const shares = told.map(({ share }) => share);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect([shares[0], shares.at(-1)! < 1]).toEqual([0, true]);
  expect(await readdir(folder)).toEqual([]);
});

test('a calibration that is cancelled leaves no process and no files behind', async () => {
  const cancelled = new AbortController();
  const reason = new Error('not wanted any more');
  const calibration = calibrateInProcess({
    dataDir: folder,
    signal: cancelled.signal,
    onProgress: () => cancelled.abort(reason),
  });
  await expect(calibration).rejects.toBe(reason);
  expect(await readdir(folder)).toEqual([]);
});

test('a calibration whose data cannot be written fails with the reason', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const { code } = await calibrateInProcess({ dataDir: join(file, 'below') }).catch((error) => error);
  expect(code).toBe('DATA_FOLDER_UNUSABLE');
});

test('the limits that calibration and model assume are those of the engine', () => {
  expect(resumedOperationsPerTurnMax).toBe(limits.resumedOperationsPerTurnMax);
  expect(engineBuild).toMatchObject({
    groupsInFlight: limits.groupsInFlightMax,
    groupBytesMax: limits.groupBytesMax,
    messagesPerPartition: limits.partitionMessagesMax,
  });
});

test('the CPU of the load generator is measured on an instance that does nothing', async () => {
  const { enqueueUs, dequeueUs } = await measureClient(512);
  expect(enqueueUs).toBeGreaterThan(0.01);
  expect(dequeueUs).toBeGreaterThan(0.01);
  expect(enqueueUs + dequeueUs).toBeLessThan(200);
});
