import type { StoreInfo } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { durabilitiesOf, durabilityNote, hasFeature } from '../src/model/store-support.ts';

const store = (features: Record<string, 'yes' | 'weaker' | 'no'>): StoreInfo => ({
  store: 'nats-jetstream',
  servers: [],
  features: Object.entries(features).map(([feature, support]) => ({
    feature,
    about: feature,
    support,
    note: null,
  })),
});

it('offers features that the store supports in full or in part, and all features while the store is unknown', () => {
  const some = store({ delay: 'yes', attempts: 'weaker', priorities: 'no' });
  expect(['delay', 'attempts', 'priorities'].map((feature) => hasFeature(some, feature))).toEqual([
    true,
    true,
    false,
  ]);
  expect(hasFeature(undefined, 'priorities')).toBe(true);
});

it('does not offer durable queues if acknowledgements are not synced', () => {
  expect(durabilitiesOf(store({ syncedAcknowledgement: 'no' }))).toEqual(['relaxed', 'memory']);
  expect(durabilitiesOf(store({ syncedAcknowledgement: 'weaker' }))[0]).toBe('durable');
  expect(durabilitiesOf(undefined)[0]).toBe('durable');
});

it('says what a durability means on servers', () => {
  expect(durabilityNote('relaxed', store({}))).toContain('a majority of its servers');
  expect(durabilityNote('relaxed', { store: 'local' })).not.toContain('servers');
});
