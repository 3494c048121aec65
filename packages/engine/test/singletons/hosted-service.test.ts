/** A service that does not end when it should. */
import { expect, it, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { ServiceContext, ServiceSession, SingletonService } from '../../src/api/service.ts';
import { HostedService } from '../../src/singletons/hosted-service.ts';
import type { ServiceInstance } from '../../src/singletons/service-instance.ts';
import { ManualPorts } from '../support/manual-ports.ts';

it('that hangs after a failure is activated again, and its former sessions are closed', async () => {
  const ports = new ManualPorts();
  const contexts: ServiceContext[] = [];
  const service: SingletonService = {
    activate: (context) => void contexts.push(context),
    deactivate: () => new Promise(() => undefined),
  };
  const close = vi.fn(async () => undefined);
  const epoch = 1;
  const of: ServiceInstance = {
    instance: 1,
    epoch,
    holder: { pid: 1, instance: 1 },
    openSession(_state, open) {
      const session = { close } as unknown as ServiceSession;
      open.add(session);
      return session;
    },
    writeTenure: async () => undefined,
    assertServing: () => undefined,
  };
  const spec = { name: 'stuck', module: 'x' };
  const state = { name: 'stuck', epoch, text: undefined };
  const hosted = new HostedService({ spec, state, tenures: [], of, load: async () => service, ports });
  hosted.start();
  await ports.advance(0);
  contexts[0]!.openSession();
  contexts[0]!.fail(new Error('it gave up'));
  await ports.advance(limits.serviceDeactivateMsMax + limits.serviceRetryMsMin);
  expect(contexts).toHaveLength(2);
  expect(hosted.info).toMatchObject({
    status: 'active',
    failure: { message: 'The service was not deactivated in time' },
  });
  expect(close).toHaveBeenCalledOnce();
  expect(() => contexts[0]!.openSession()).toThrow(expect.objectContaining({ code: 'SERVICE_NOT_ACTIVE' }));
});
