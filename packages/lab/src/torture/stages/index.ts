/** All stages that the torture plays on, each as often as it stands here. */
import { clusterStage } from './cluster.ts';
import { forwardingStage } from './forwarding.ts';
import { instancesStage } from './instances.ts';
import type { Stage } from './stage.ts';

export const stages: readonly Stage[] = [
  forwardingStage,
  instancesStage,
  clusterStage,
  instancesStage,
  instancesStage,
];
