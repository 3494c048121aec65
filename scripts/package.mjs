/** `npm run package`: builds the engine's package in `packages/engine/dist`, from where npm publishes it, and packs it into the root. */
import { ensureInstalled } from './install.mjs';
import { giveUp, inRoot, pinnedNode, run } from './run.mjs';

const folder = './packages/engine/dist';

ensureInstalled();
if (!run(pinnedNode, [inRoot('scripts', 'build-engine.mjs'), folder]))
  giveUp('the package could not be built');
if (!run('npm', ['pack', folder])) giveUp('`npm pack` failed; its message is above');
