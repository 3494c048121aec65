import type { Instance, InstanceOptions } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { assembleInstance } from '../../src/runtime/assemble-instance.ts';
import type { CommitPlacement } from '../../src/storage/threads/commit-place.ts';

/** Opens an instance without claiming it. Whoever opens it closes it. */
export function openWithPlacement(options: InstanceOptions, placement: CommitPlacement): Promise<Instance> {
  return assembleInstance(1, options, { placement, onClosed: () => undefined }, nodePorts);
}
