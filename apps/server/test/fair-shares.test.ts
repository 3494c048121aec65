import { describe, expect, it } from 'vitest';
import { FairShares, shareWeights } from '../src/fair-shares.ts';
import { clientOf } from '../src/http/client-address.ts';

type Party = 'queue' | 'client';

/** Takes places until one is refused. */
function takeAll(shares: FairShares<Party>, queue: string, clientOfCall: (call: number) => string): number {
  for (let call = 0; ; call += 1) {
    if (typeof shares.take({ queue, client: clientOfCall(call) }) !== 'function') return call;
  }
}
const manyClients = (call: number) => `client ${call}`;

describe('fair shares', () => {
  it('limit a queue to half of the places that others have left, so that each further queue still gets some', () => {
    const shares = new FairShares<Party>(2_000, shareWeights);
    expect(takeAll(shares, 'a', manyClients)).toBe(1_000);
    expect(takeAll(shares, 'b', manyClients)).toBe(500);
    expect(takeAll(shares, 'c', manyClients)).toBe(250);
    expect(typeof shares.take({ queue: 'd', client: 'new' })).toBe('function');
  });

  it('limit a client over all of its queues', () => {
    const shares = new FairShares<Party>(100, shareWeights);
    const taken = Array.from({ length: 100 }, (_, index) =>
      shares.take({ queue: `q${index}`, client: 'greedy' }),
    ).filter((place) => typeof place === 'function');
    expect(taken).toHaveLength(75);
    expect(shares.take({ queue: 'q', client: 'greedy' })).toBe('client');
    expect(typeof shares.take({ queue: 'q', client: 'another' })).toBe('function');
  });

  it('never exceed their maximum in total', () => {
    const shares = new FairShares<Party>(10, shareWeights);
    const places = Array.from({ length: 50 }, (_, index) =>
      shares.take({ queue: `q${index}`, client: `c${index}` }),
    );
    expect(places.filter((place) => typeof place === 'function')).toHaveLength(10);
    expect(places.at(-1)).toBe('server');
    expect(shares.used).toBe(10);
  });

  it('are released once, even if the release is called again', () => {
    const shares = new FairShares<Party>(4, shareWeights);
    const first = shares.take({ queue: 'a', client: 'x' }) as () => void;
    const second = shares.take({ queue: 'a', client: 'x' }) as () => void;
    expect(shares.take({ queue: 'a', client: 'y' })).toBe('queue');
    first();
    first();
    expect(shares.used).toBe(1);
    expect(typeof shares.take({ queue: 'a', client: 'y' })).toBe('function');
    second();
    expect(shares.used).toBe(1);
  });

  it('leave room for other queues of a client if one of its queues has its full share', () => {
    const shares = new FairShares<Party>(2_000, shareWeights);
    expect(takeAll(shares, 'a', () => 'proxy')).toBe(1_000);
    expect(takeAll(shares, 'b', () => 'proxy')).toBe(500);
    expect(shares.take({ queue: 'c', client: 'proxy' })).toBe('client');
    expect(typeof shares.take({ queue: 'c', client: 'another' })).toBe('function');
  });

  it('count amounts, such as bytes', () => {
    const shares = new FairShares<'client'>(32, shareWeights);
    expect(typeof shares.take({ client: 'a' }, 20)).toBe('function');
    expect(shares.take({ client: 'a' }, 17 - 4)).toBe('server');
    expect(typeof shares.take({ client: 'a' }, 4)).toBe('function');
    expect(shares.take({ client: 'a' }, 8)).toBe('client');
    expect(typeof shares.take({ client: 'b' }, 8)).toBe('function');
  });
});

describe('the party of a client', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('at %s is %s', (remoteAddress, party) => {
    expect(clientOf({ remoteAddress })).toBe(party);
  });
});
