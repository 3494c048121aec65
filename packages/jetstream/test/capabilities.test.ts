/** The table of promises in the documentation is equal to the record in the code. */
import { readFileSync } from 'node:fs';
import { type Capability, localCapabilities, type StoreFeature, storeFeatures } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { capabilitiesOf, jetStreamCapabilities } from '../src/capabilities.ts';

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

it('a store supports only those optional promises for which it was opened, and otherwise what the table says', () => {
  const supports = (options: Parameters<typeof capabilitiesOf>[0]) => {
    const { syncedAcknowledgement, consumeAndEnqueue } = capabilitiesOf(options);
    return [syncedAcknowledgement.support, consumeAndEnqueue.support];
  };
  expect(supports({})).toEqual(['no', 'no']);
  expect(supports({ sync: 'always' })).toEqual(['weaker', 'no']);
  expect(supports({ transactions: 'enqueue-first' })).toEqual(['no', 'weaker']);
  expect(capabilitiesOf({ sync: 'always', transactions: 'enqueue-first' })).toEqual(jetStreamCapabilities);
});
