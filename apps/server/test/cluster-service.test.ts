/** A change of the number of instances in which the server's own instance cannot be closed, or none be opened afterwards. */
import { QueueError } from '@shardlab/engine';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Backend } from '../src/cluster/backend.ts';
import { ClusterService } from '../src/cluster/cluster-service.ts';
import { LocalBackend } from '../src/cluster/local-backend.ts';
import { ProcessBackend } from '../src/cluster/process-backend.ts';
import { makeDataDir } from './start-app.ts';

const failure = new QueueError('STORAGE_FULL');
const queues = {} as Backend['queues'];

async function serviceThatCannotClose() {
  const [openLocal, openProcesses] = [vi.spyOn(LocalBackend, 'open'), vi.spyOn(ProcessBackend, 'open')];
  onTestFinished(() => void vi.restoreAllMocks());
  const backend = { queues: {}, resize: async () => false, close: () => Promise.reject(failure) };
  openLocal.mockResolvedValueOnce(backend as unknown as LocalBackend).mockRejectedValue(failure);
  openProcesses.mockRejectedValue(failure);
  const onUnrecoverable = vi.fn();
  const extension = { module: '', options: null };
  const service = await ClusterService.open(makeDataDir(), {
    nats: null,
    services: [],
    extension,
    onUnrecoverable,
  });
  return { service, openLocal, openProcesses, onUnrecoverable };
}

it('goes on with processes though the instance could not be closed', async () => {
  const { service, openProcesses, onUnrecoverable } = await serviceThatCannotClose();
  openProcesses.mockResolvedValue({ queues } as ProcessBackend);
  await service.resize(2);
  expect(service.queues).toBe(queues);
  expect(onUnrecoverable).not.toHaveBeenCalled();
});

it('goes on in the server if processes cannot be started', async () => {
  const { service, openLocal, onUnrecoverable } = await serviceThatCannotClose();
  openLocal.mockResolvedValue({ queues } as LocalBackend);
  await expect(service.resize(2)).rejects.toBe(failure);
  expect(service.queues).toBe(queues);
  expect(onUnrecoverable).not.toHaveBeenCalled();
});

it('calls for a restart if neither can be opened', async () => {
  const { service, onUnrecoverable } = await serviceThatCannotClose();
  await expect(service.resize(2)).rejects.toBe(failure);
  expect(onUnrecoverable.mock.calls).toEqual([[failure]]);
});
