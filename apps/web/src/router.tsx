/**
 * The addresses of the dashboard. Selections on a page are kept in the query string, so that a link reproduces them. Pages other
 * than the first are loaded when a link to them is pointed at, or opened.
 */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { readApiSearch } from './pages/api-reference/api-search.ts';
import { readCompareSearch } from './pages/compare/compare-search.ts';
import { readEditorSearch } from './pages/editor/editor-search.ts';
import { readExplainSearch } from './pages/explain/explain-search.ts';
import { FailedPage } from './pages/failed/failed-page.tsx';
import { LabPage } from './pages/lab/lab-page.tsx';
import { readLabSearch } from './pages/lab/lab-search.ts';
import { readLessonSearch } from './pages/learn/lesson-search.ts';
import { LoginPage } from './pages/login/login-page.tsx';
import { readLoginSearch } from './pages/login/login-search.ts';
import { NotFoundPage } from './pages/not-found/not-found-page.tsx';
import { readQueuesSearch } from './pages/queues/queues-search.ts';
import { readRunSearch } from './pages/run/run-search.ts';
import { readRunsSearch } from './pages/runs/runs-search.ts';
import { readWhatIfSearch } from './pages/what-if/what-if-search.ts';
import { AppShell } from './parts/app-shell.tsx';

const root = createRootRoute({ component: AppShell, notFoundComponent: NotFoundPage });

const lab = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: LabPage,
  validateSearch: readLabSearch,
});
const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: LoginPage,
  validateSearch: readLoginSearch,
});
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  component: lazyRouteComponent(() => import('./pages/runs/runs-page.tsx'), 'RunsPage'),
  validateSearch: readRunsSearch,
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('./pages/run/run-page.tsx'), 'RunPage'),
  validateSearch: readRunSearch,
});
const explain = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId/explain',
  component: lazyRouteComponent(() => import('./pages/explain/explain-page.tsx'), 'ExplainPage'),
  validateSearch: readExplainSearch,
});
const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  component: lazyRouteComponent(() => import('./pages/compare/compare-page.tsx'), 'ComparePage'),
  validateSearch: readCompareSearch,
});
const queues = createRoute({
  getParentRoute: () => root,
  path: '/queues',
  component: lazyRouteComponent(() => import('./pages/queues/queues-page.tsx'), 'QueuesPage'),
  validateSearch: readQueuesSearch,
});
const cluster = createRoute({
  getParentRoute: () => root,
  path: '/cluster',
  component: lazyRouteComponent(() => import('./pages/cluster/cluster-page.tsx'), 'ClusterPage'),
});
const documents = createRoute({
  getParentRoute: () => root,
  path: '/documents',
  component: lazyRouteComponent(() => import('./pages/documents/documents-page.tsx'), 'DocumentsPage'),
});
const document = createRoute({
  getParentRoute: () => root,
  path: '/documents/$studyId',
  component: lazyRouteComponent(() => import('./pages/documents/document-page.tsx'), 'DocumentPage'),
});
/** The address that the documents had before each had a page. */
const claims = createRoute({
  getParentRoute: () => root,
  path: '/claims',
  beforeLoad: () => {
    throw redirect({ to: '/documents' });
  },
});
const scenarios = createRoute({
  getParentRoute: () => root,
  path: '/scenarios',
  component: lazyRouteComponent(() => import('./pages/scenarios/scenarios-page.tsx'), 'ScenariosPage'),
});
const learn = createRoute({
  getParentRoute: () => root,
  path: '/learn',
  component: lazyRouteComponent(() => import('./pages/learn/learn-page.tsx'), 'LearnPage'),
});
const lesson = createRoute({
  getParentRoute: () => root,
  path: '/learn/$lessonId',
  component: lazyRouteComponent(() => import('./pages/learn/lesson-page.tsx'), 'LessonPage'),
  validateSearch: readLessonSearch,
});
const editor = createRoute({
  getParentRoute: () => root,
  path: '/editor',
  component: lazyRouteComponent(() => import('./pages/editor/editor-page.tsx'), 'EditorPage'),
  validateSearch: readEditorSearch,
});
const whatIf = createRoute({
  getParentRoute: () => root,
  path: '/what-if',
  component: lazyRouteComponent(() => import('./pages/what-if/what-if-page.tsx'), 'WhatIfPage'),
  validateSearch: readWhatIfSearch,
});
const api = createRoute({
  getParentRoute: () => root,
  path: '/docs',
  component: lazyRouteComponent(() => import('./pages/api-reference/api-page.tsx'), 'ApiPage'),
  validateSearch: readApiSearch,
});
const scenario = createRoute({
  getParentRoute: () => root,
  path: '/scenarios/$scenarioId',
  component: lazyRouteComponent(() => import('./pages/scenario/scenario-page.tsx'), 'ScenarioPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    lab,
    login,
    runs,
    run,
    explain,
    compare,
    queues,
    cluster,
    documents,
    document,
    claims,
    learn,
    lesson,
    whatIf,
    editor,
    scenarios,
    scenario,
    api,
  ]),
  scrollRestoration: true,
  defaultPreload: 'intent',
  // Whatever a page throws, in the browser's own words and no frame around them otherwise.
  defaultErrorComponent: FailedPage,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
