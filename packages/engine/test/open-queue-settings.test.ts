/** `openQueue` creates a queue or opens one that exists: with the settings that it has, or it says which differ. */
import { describe, expect, it } from 'vitest';
import { type OpenQueueOptions, openQueue } from '../src/index.ts';
import { makeFolder } from './folder.ts';

type Settings = Omit<OpenQueueOptions, 'dir' | 'name'>;

/** Settings of a queue, and another valid value of each of them. */
const pairs: [given: Settings, others: Settings][] = [
  [{ kind: 'sharded' }, { kind: 'unsharded' }],
  [{ type: 'topic' }, { type: 'queue' }],
  [{ shards: 3 }, { shards: 2 }],
  [{ durability: 'relaxed' }, { durability: 'durable' }],
  [{ priorities: true }, { priorities: false }],
  [{ attemptsMax: 2 }, { attemptsMax: 3 }],
  [{ retryDelayMs: 10 }, { retryDelayMs: 20 }],
  [{ retentionMs: 1_000 }, { retentionMs: 2_000 }],
  [{ forwarding: false }, { forwarding: true }],
  [{ cacheBytesMin: 1_000 }, { cacheBytesMin: 2_000 }],
  [{ cacheBytesMax: 1_000_000 }, { cacheBytesMax: 2_000_000 }],
  [{ correlationIndex: true }, { correlationIndex: false }],
  [{ kind: 'unsharded', shards: 4 }, { kind: 'unsharded-grouped' }],
  [{ kind: 'unsharded', type: 'topic', temporarySubscribers: true }, { temporarySubscribers: false }],
];

describe('a queue that exists', () => {
  it.each(pairs)('is opened again with %j, and not with %j', async (given, others) => {
    const dir = makeFolder();
    const open = (settings: Settings) => openQueue({ dir, name: 'orders', ...settings });
    const first = await open(given);
    const before = first.info();
    await first.close();
    for (const settings of [given, {}]) {
      const again = await open(settings);
      expect(again.info()).toEqual(before);
      await again.close();
    }
    const [name] = Object.keys(others) as [keyof Settings];
    await expect(open(others)).rejects.toMatchObject({
      code: 'QUEUE_SETTINGS_DIFFER',
      message: expect.stringMatching(`^orders exists with other settings: ${name} is .+, not .+`),
      details: { queue: 'orders', settings: [{ name, given: others[name], actual: before[name] }] },
    });
    const after = await open({});
    expect(after.info()).toEqual(before);
    await after.close();
  });

  it('names every setting that differs', async () => {
    const dir = makeFolder();
    await (await openQueue({ dir, name: 'orders' })).close();
    await expect(openQueue({ dir, name: 'orders', shards: 2, priorities: true })).rejects.toThrow(
      'orders exists with other settings: shards is 1, not 2; priorities is false, not true.',
    );
  });
});
