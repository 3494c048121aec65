/** Every feature that the server refuses as not supported is listed as not built on the page of the white paper. */
import type { StudyList } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { unsupportedByRoute, unsupportedRoutes } from '../src/http/unsupported.ts';
import { shareApp } from './start-app.ts';

const sharedApp = shareApp();

async function notBuilt(): Promise<string[]> {
  const { body } = await sharedApp().get<StudyList>('/api/studies');
  return body.studies.find(({ id }) => id === 'white-paper')!.notBuilt.map(({ feature }) => feature);
}

/** The listed feature for everything that the server refuses: a field, a value of a field, or a route. */
const listedAs: Readonly<Record<string, string>> = {
  dedupKey: 'Deduplication of messages',
  expiresInMs: 'Expiry of messages',
  selector: 'Selectors',
  session: 'Named sessions over HTTP',
  '/kind buffered': 'Buffered queues as a kind of their own',
  'GET /api/compare': 'Comparison of runs over HTTP',
};

it('every feature that the server refuses is listed as not built', async () => {
  const refused = [...unsupportedByRoute.values()].flatMap(({ fields, values = {} }) => [
    ...fields,
    ...Object.entries(values).flatMap(([path, all]) => all.map((value) => `${path} ${value}`)),
  ]);
  const routes = unsupportedRoutes.map((route) => route.join(' '));
  expect([...new Set([...refused, ...routes])].sort()).toEqual(Object.keys(listedAs).sort());
  expect(await notBuilt()).toEqual(expect.arrayContaining(Object.values(listedAs)));
});

it('features of the paper that the engine does not have are listed as not built', async () => {
  expect(await notBuilt()).toEqual(
    expect.arrayContaining([
      'Selectors',
      'Expiry of messages',
      'Propagation to other databases',
      'Transactional grouping',
      'Standby databases',
      'Online backup',
    ]),
  );
});
