/** All setups of the torture test. Each is used as often as it is listed. */
import { clusterSetup } from './cluster.ts';
import { forwardingSetup } from './forwarding.ts';
import { instancesSetup } from './instances.ts';
import type { TortureSetup } from './setup.ts';

export const setups: readonly TortureSetup[] = [
  forwardingSetup,
  instancesSetup,
  clusterSetup,
  instancesSetup,
  instancesSetup,
];
