/** Addresses of the dashboard. What a page shows beyond its id lies in the search part, so that a link repeats it. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { AppShell } from './views/app-shell.tsx';
import { ClaimsPage } from './views/claims-page.tsx';
import { ClusterPage } from './views/cluster-page.tsx';
import { GalleryPage } from './views/gallery-page.tsx';
import { NotFound } from './views/page-states.tsx';
import { readQueueSearch } from './views/queue-search.ts';
import { QueuesPage } from './views/queues-page.tsx';
import { RunPage } from './views/run-page.tsx';
import { readRunSearch } from './views/run-search.ts';
import { RunsPage } from './views/runs-page.tsx';
import { ScenarioPage } from './views/scenario-page.tsx';
import { WhatIfPage } from './views/what-if-page.tsx';
import { readWhatIfSearch } from './views/what-if-search.ts';

const root = createRootRoute({ component: AppShell, notFoundComponent: NotFound });

const gallery = createRoute({ getParentRoute: () => root, path: '/', component: GalleryPage });
const runs = createRoute({ getParentRoute: () => root, path: '/runs', component: RunsPage });
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: RunPage,
  validateSearch: readRunSearch,
});
const queues = createRoute({
  getParentRoute: () => root,
  path: '/queues',
  component: QueuesPage,
  validateSearch: readQueueSearch,
});
const cluster = createRoute({ getParentRoute: () => root, path: '/cluster', component: ClusterPage });
const claims = createRoute({ getParentRoute: () => root, path: '/claims', component: ClaimsPage });
const whatIf = createRoute({
  getParentRoute: () => root,
  path: '/what-if',
  component: WhatIfPage,
  validateSearch: readWhatIfSearch,
});
const scenario = createRoute({
  getParentRoute: () => root,
  path: '/scenarios/$scenarioId',
  component: ScenarioPage,
});

export const router = createRouter({
  routeTree: root.addChildren([gallery, runs, run, queues, cluster, claims, whatIf, scenario]),
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
