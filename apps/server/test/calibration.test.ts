/** A calibration over HTTP, in its smallest form. These tests do not check how large the costs are. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Calibration,
  CalibrationAnswer,
  ErrorBody,
  HardwareList,
  MachineState,
} from '@shardlab/contract';
import { calibratedId } from '@shardlab/lab';
import { describe, expect, it, vi } from 'vitest';
import { makeDataDir, startApp, type TestApp, waiting } from './start-app.ts';

const url = '/api/calibration';
const smallest = { sliceMs: 10, rounds: 1 };

const latest = async ({ get }: TestApp) => (await get<CalibrationAnswer>(url)).body.calibration;
const machines = async ({ get }: TestApp) => (await get<HardwareList>('/api/hardware')).body.hardware;
const calibrated = async (test: TestApp) => (await machines(test)).find(({ id }) => id === calibratedId);

const untilOver = (test: TestApp): Promise<Calibration> =>
  vi.waitFor(
    async () => {
      const calibration = await latest(test);
      if (calibration?.state === 'running') throw new Error(`${calibration.what} is measured`);
      return calibration!;
    },
    { ...waiting, timeout: 150_000 },
  );

describe('a calibration', () => {
  it('measures the costs of this machine, which are kept when the server ends', async () => {
    const dataDir = makeDataDir();
    const test = await startApp({ dataDir });
    expect(await latest(test)).toBeNull();
    const before = await machines(test);
    const started = await test.post<CalibrationAnswer>(url, smallest);
    expect(started.status).toBe(202);
    expect(started.body.calibration).toMatchObject({ state: 'running', share: 0, error: null });
    expect((await test.get<MachineState>('/api/machine')).body.calibrating).toBe(true);
    const second = await test.post<ErrorBody>(url);
    expect([second.status, second.body.code]).toEqual([409, 'CALIBRATION_RUNNING']);

    const { endedAtMs, ...done } = await untilOver(test);
    expect(done).toMatchObject({ state: 'done', share: 1, etaMs: null, error: null });
    expect(endedAtMs).toBeGreaterThan(done.startedAtMs);
    const here = await calibrated(test);
    expect(here?.calibratedAtMs).toBeGreaterThanOrEqual(done.startedAtMs);
    expect(await machines(test)).toEqual([here, ...before.filter(({ id }) => id !== calibratedId)]);
    expect(statSync(join(dataDir, 'this-machine.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(dataDir, 'runs'))).toEqual([]);
    expect((await test.get<MachineState>('/api/machine')).body.calibrating).toBe(false);
    await test.close();

    const next = await startApp({ dataDir });
    expect(await latest(next)).toBeNull();
    expect(await calibrated(next)).toEqual(here);
  }, 180_000);

  it('that is cancelled keeps the costs of the previous one and leaves no files', async () => {
    const test = await startApp();
    await test.post(url);
    const cancelled = await test.remove<CalibrationAnswer>(url);
    expect([cancelled.status, cancelled.body.calibration?.state]).toEqual([200, 'cancelled']);
    expect(cancelled.body.calibration?.etaMs).toBeNull();
    expect(readdirSync(join(test.dataDir, 'runs'))).toEqual([]);
    // A second cancel finds nothing to cancel, and another calibration can begin.
    expect((await test.remove<CalibrationAnswer>(url)).body).toEqual(cancelled.body);
    expect((await test.post(url)).status).toBe(202);
  });

  it('that fails says why', async () => {
    const dataDir = makeDataDir();
    writeFileSync(join(dataDir, 'runs'), 'no folder');
    const test = await startApp({ dataDir });
    await test.post(url, smallest);
    const { state, error } = await untilOver(test);
    expect([state, error?.code]).toEqual(['failed', 'DATA_FOLDER_UNUSABLE']);
    expect(error?.message).not.toContain(dataDir);
  });

  it('is refused with settings that it cannot have', async () => {
    const test = await startApp();
    for (const body of [{ rounds: 0 }, { sliceMs: 5 }, { payloadBytes: 1 }])
      expect((await test.post<ErrorBody>(url, body)).status).toBe(400);
    expect(await latest(test)).toBeNull();
  });
});

describe('the file of a calibration', () => {
  it('is ignored while it is damaged, and read again at each call', async () => {
    const test = await startApp();
    const [other] = await machines(test);
    const path = join(test.dataDir, 'this-machine.json');
    writeFileSync(path, '{"version": 1}');
    expect(await machines(test)).toEqual(await machines(await startApp()));
    const mine = { ...other!, id: calibratedId, calibratedAtMs: Number.MAX_SAFE_INTEGER };
    writeFileSync(path, JSON.stringify(mine));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(await calibrated(test));
  });
});
