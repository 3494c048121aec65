/** NATS servers of our own, for tests and the lab. */
export { type FoundServer, findServer, installCommand, installServer } from './find-server.ts';
export { missingForLossyDisks } from './lossy-disk/lossy-disk.ts';
export { NatsCluster, type NatsClusterOptions } from './nats-cluster.ts';
