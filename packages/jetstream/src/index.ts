/** All that is public of the store on NATS JetStream. */
export { jetStreamCapabilities } from './capabilities.ts';
export {
  type LocalQueues,
  type MoveOptions,
  type MoveStep,
  moveSteps,
  moveToJetStream,
} from './move/move-queue.ts';
export { type JetStreamOptions, type JetStreamStore, openJetStream } from './open-jetstream.ts';
export type { JetStreamQueueSpec } from './queue-config.ts';
