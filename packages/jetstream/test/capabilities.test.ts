/** The table of promises in the documentation is the record that the code has. */
import { readFileSync } from 'node:fs';
import { type Capability, localCapabilities, type StoreFeature, storeFeatures } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { jetStreamCapabilities } from '../src/capabilities.ts';

const cell = ({ support, note }: Capability) => (note === undefined ? support : `${support}: ${note}`);

it('the table in docs/distributed.md shows what both stores promise', () => {
  const page = readFileSync(new URL('../../../docs/distributed.md', import.meta.url), 'utf8');
  const table = /<!-- capabilities -->\n\n([\s\S]*?)\n\n<!-- \/capabilities -->/
    .exec(page)?.[1]
    ?.split('\n')
    .slice(2);
  const lines = (Object.keys(storeFeatures) as StoreFeature[]).map(
    (feature) =>
      `| ${storeFeatures[feature]} (\`${feature}\`) | ${cell(localCapabilities[feature])} | ${cell(jetStreamCapabilities[feature])} |`,
  );
  expect(table).toEqual(lines);
});
