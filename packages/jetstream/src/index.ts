/** All that is public of the store on NATS JetStream. */
export { jetStreamCapabilities } from './capabilities.ts';
export type { LocalQueues } from './move/local-queues.ts';
export { type MoveStep, moveSteps } from './move/move-steps.ts';
export { type MoveOptions, moveToJetStream } from './move/move-to-jetstream.ts';
export { type MoveToLocalOptions, moveToLocal } from './move/move-to-local.ts';
export { type JetStreamOptions, type JetStreamStore, openJetStream } from './open-jetstream.ts';
export type { JetStreamQueueSpec } from './queue-config.ts';
