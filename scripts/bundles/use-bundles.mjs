/** For commands that start many processes and threads of this repository: they load bundles instead of sources. */
import { giveUp, inRoot, pinnedNode, run } from '../run.mjs';

/** Makes the bundles of the sources as they are, and returns the environment that has them loaded. */
export function useBundles() {
  if (!run(pinnedNode, [inRoot('scripts', 'bundles', 'build.mjs')])) giveUp('the bundles could not be made');
  const redirect = inRoot('scripts', 'bundles', 'redirect.mjs');
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require=${JSON.stringify(redirect)}`.trim() };
}
