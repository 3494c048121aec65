/**
 * Preloaded by the processes of the self-test (`--import`, which their threads inherit): puts a bug into the engine's sources
 * as they are loaded. `SHARDLAB_PLANT` has its edits as JSON. An edit whose text is not found exactly once ends the process,
 * so that the table of plants cannot rot.
 */
import { registerHooks } from 'node:module';
import { applyEdits, type SourceEdit } from './source-edit.ts';

const edits = JSON.parse(process.env.SHARDLAB_PLANT ?? '[]') as SourceEdit[];
const engine = new URL('../../engine/src/', import.meta.url).href;

if (edits.length > 0) {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const ofFile = edits.filter(({ file }) => url === engine + file);
      if (ofFile.length === 0) return loaded;
      return { ...loaded, source: applyEdits(String(loaded.source), ofFile) };
    },
  });
}
