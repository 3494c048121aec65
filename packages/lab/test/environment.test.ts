import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import { assertDiskSpace } from '../src/run/disk-space.ts';
import { captureEnvironment, fileSystemFromMounts } from '../src/run/environment.ts';
import { point, smallScenario } from './support.ts';

const mounts = `/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/vdb /data\\040disk xfs rw 0 0
overlay /tmp overlay rw 0 0
`;

test.each([
  ['/home/x', 'ext4'],
  ['/tmp/run', 'overlay'],
  ['/tmpfiles', 'ext4'],
  ['/data disk/queue', 'xfs'],
])('the file system of %s is %s', (path, type) => {
  expect(fileSystemFromMounts(mounts, path)).toBe(type);
});

test('the environment names machine, versions and a sync that took time', async () => {
  const environment = await captureEnvironment(tmpdir());
  expect(environment.cores).toBeGreaterThan(0);
  expect(environment.node).toBe(process.version);
  expect(environment.sqlite).toMatch(/^3\.\d+\.\d+$/);
  expect(environment.syncMs.p50).toBeGreaterThan(0);
  expect(environment.syncMs.p99).toBeGreaterThanOrEqual(environment.syncMs.p50);
});

test('a trial is refused if the disk has less room than its backlog may need, with both sizes', () => {
  const needBytes = queueProgram.trialBytesMax(smallScenario(), {
    ...point({ deq: 1, instances: 2 }).params,
    payloadBytes: 64,
    backlog: 0,
    backlogMax: 500,
  });
  expect(needBytes).toBeGreaterThan(2 * 500 * 64);
  expect(() => assertDiskSpace({ folder: '/data', needBytes, freeBytes: needBytes })).not.toThrow();
  expect(() => assertDiskSpace({ folder: '/data', needBytes, freeBytes: needBytes - 1 })).toThrow(
    expect.objectContaining({
      code: 'DISK_SPACE_LOW',
      retryable: true,
      details: { folder: '/data', needBytes, freeBytes: needBytes - 1 },
    }),
  );
});
