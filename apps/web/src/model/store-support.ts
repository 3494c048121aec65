/** The features of the queues' store, for forms: choices that it would refuse are not offered. */
import type { CreateQueue, StoreInfo } from '@shardlab/contract';

/** Whether the store has a feature, fully or in part. True while the store is unknown: it refuses what it does not support. */
export function hasFeature(store: Pick<StoreInfo, 'features'> | undefined, feature: string): boolean {
  return store?.features.find((each) => each.feature === feature)?.support !== 'no';
}

type Durability = NonNullable<CreateQueue['durability']>;

/** The durabilities that a new queue can have, the safest first. */
export function durabilitiesOf(store: Pick<StoreInfo, 'features'> | undefined): Durability[] {
  return hasFeature(store, 'syncedAcknowledgement')
    ? ['durable', 'relaxed', 'memory']
    : ['relaxed', 'memory'];
}

/** Explains a durability, whose meaning depends on the store. */
export function durabilityNote(durability: Durability, store: Pick<StoreInfo, 'store'> | undefined): string {
  return (store?.store === 'nats-jetstream' ? onServers : inFolder)[durability];
}

const inFolder: Readonly<Record<Durability, string>> = {
  durable: 'Synced to disk before a commit is acknowledged: survives a power cut.',
  relaxed: 'Written before a commit is acknowledged: survives a killed process, not a power cut.',
  memory: 'Not persistent: lost when the server stops.',
};

const onServers: Readonly<Record<Durability, string>> = {
  durable:
    'Synced to disk before a commit is acknowledged, if every server has sync_interval: always: survives a power cut.',
  relaxed:
    'Written by a majority of its servers before a commit is acknowledged: survives killed processes, not a power cut.',
  memory: 'In the memory of its servers: lost when a majority of them stops.',
};
