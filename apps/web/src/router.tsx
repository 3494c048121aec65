/**
 * The addresses of the dashboard. Selections on a page are kept in the query string, so that a link reproduces them.
 */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { ClusterPage } from './pages/cluster/cluster-page.tsx';
import { readCompareSearch } from './pages/compare/compare-search.ts';
import { DocumentPage } from './pages/documents/document-page.tsx';
import { DocumentsPage } from './pages/documents/documents-page.tsx';
import { readEditorSearch } from './pages/editor/editor-search.ts';
import { readExplainSearch } from './pages/explain/explain-search.ts';
import { LabPage } from './pages/lab/lab-page.tsx';
import { readLabSearch } from './pages/lab/lab-search.ts';
import { LearnPage } from './pages/learn/learn-page.tsx';
import { LessonPage } from './pages/learn/lesson-page.tsx';
import { readLessonSearch } from './pages/learn/lesson-search.ts';
import { LoginPage } from './pages/login/login-page.tsx';
import { readLoginSearch } from './pages/login/login-search.ts';
import { NotFoundPage } from './pages/not-found/not-found-page.tsx';
import { QueuesPage } from './pages/queues/queues-page.tsx';
import { readQueuesSearch } from './pages/queues/queues-search.ts';
import { RunPage } from './pages/run/run-page.tsx';
import { readRunSearch } from './pages/run/run-search.ts';
import { RunsPage } from './pages/runs/runs-page.tsx';
import { ScenarioPage } from './pages/scenario/scenario-page.tsx';
import { ScenariosPage } from './pages/scenarios/scenarios-page.tsx';
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
const runs = createRoute({ getParentRoute: () => root, path: '/runs', component: RunsPage });
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: RunPage,
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
  component: QueuesPage,
  validateSearch: readQueuesSearch,
});
const cluster = createRoute({ getParentRoute: () => root, path: '/cluster', component: ClusterPage });
const documents = createRoute({ getParentRoute: () => root, path: '/documents', component: DocumentsPage });
const document = createRoute({
  getParentRoute: () => root,
  path: '/documents/$studyId',
  component: DocumentPage,
});
/** The address that the documents had before each had a page. */
const claims = createRoute({
  getParentRoute: () => root,
  path: '/claims',
  beforeLoad: () => {
    throw redirect({ to: '/documents' });
  },
});
const scenarios = createRoute({ getParentRoute: () => root, path: '/scenarios', component: ScenariosPage });
const learn = createRoute({ getParentRoute: () => root, path: '/learn', component: LearnPage });
const lesson = createRoute({
  getParentRoute: () => root,
  path: '/learn/$lessonId',
  component: LessonPage,
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
const scenario = createRoute({
  getParentRoute: () => root,
  path: '/scenarios/$scenarioId',
  component: ScenarioPage,
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
  ]),
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
