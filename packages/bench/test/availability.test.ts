import type { ServerKind } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { plainjobs, type System, sharded } from '../src/drivers/systems.ts';
import { availabilityOf } from '../src/plan/availability.ts';

const server: ServerKind = {
  aptPackage: 'queue-server',
  version: () => '1.2',
  start: () => Promise.reject(new Error('not started here')),
};
const peer: System = { ...plainjobs[0]!, driver: 'redis-list', durability: 'always', server };
const installed = () => null;

describe('a system', () => {
  it('is absent where its server is not installed, and the reason names the package', () => {
    const missing = { ...peer, server: { ...server, version: () => null } };
    const { present, absent } = availabilityOf([missing, sharded], installed);
    expect(present).toEqual([sharded]);
    expect(absent).toEqual([
      {
        driver: 'redis-list',
        durability: 'always',
        reason: expect.stringContaining('apt-get install queue-server'),
      },
    ]);
  });

  it('is absent where its client library could not be installed', () => {
    const { absent } = availabilityOf([{ ...peer, packages: ['client'] }], () => 'no network');
    expect(absent).toMatchObject([{ reason: 'no network' }]);
  });

  it('is absent where the installed server lacks a durability', () => {
    const old = { ...server, refuses: () => 'too old to sync' };
    expect(availabilityOf([{ ...peer, server: old }], installed).absent).toMatchObject([
      { reason: 'too old to sync' },
    ]);
  });

  it('takes part with its version where everything is there', () => {
    expect(availabilityOf([peer], installed)).toEqual({
      present: [peer],
      absent: [],
      versions: { 'queue-server': '1.2' },
    });
  });
});
