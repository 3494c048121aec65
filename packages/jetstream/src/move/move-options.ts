/** The options of a move, of either direction. */
import {
  assertFields,
  assertName,
  type Fields,
  invalidArgument,
  natsConnectionKinds,
} from '@shardlab/engine/store-rules';
import type { LocalQueues } from './local-queues.ts';

export const moveKinds = {
  servers: 'any',
  ...natsConnectionKinds,
  local: 'any',
  queue: 'string',
  drainMsMax: 'number',
  signal: 'signal',
  onStep: 'function',
} as const;

/** Throws `OPTIONS_INVALID`. */
export function assertMoveOptions(
  options: { local: LocalQueues; queue: string; drainMsMax?: number },
  fields: Fields,
): void {
  assertFields(options, fields);
  const { local, queue, drainMsMax = 0 } = options;
  assertName('queue', queue);
  if (typeof local?.dropQueue !== 'function')
    throw invalidArgument('local', 'an instance or a client of a cluster', local);
  if (!(drainMsMax >= 0)) throw invalidArgument('drainMsMax', 'a time of at least 0', drainMsMax);
}
