/** Makes commands that start many processes and threads of this repository load bundles instead of sources. */
import { giveUp, inRoot, pinnedNode, run } from '../run.mjs';

/** Makes bundles of the current sources, and returns the environment variables with which processes load them. */
export function useBundles() {
  if (!run(pinnedNode, [inRoot('scripts', 'bundles', 'build.mjs')])) giveUp('the bundles could not be made');
  const redirect = inRoot('scripts', 'bundles', 'redirect.mjs');
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require=${JSON.stringify(redirect)}`.trim() };
}
