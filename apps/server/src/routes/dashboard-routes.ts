/** Serves the dashboard's files, and its single page for every URL that the dashboard routes itself. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import staticFiles from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from '../http/app-types.ts';

const dayS = 24 * 60 * 60;

/** The names of these files contain a hash of their content, so they never change. */
const isHashed = (path: string) => /[/\\]assets[/\\]/.test(path);

export async function dashboardRoutes(app: App, { webDir }: { webDir: string }): Promise<void> {
  if (existsSync(webDir)) {
    await app.register(staticFiles, {
      root: webDir,
      cacheControl: false,
      preCompressed: true, // by the build
      index: ['index.html'],
      schemaHide: true,
      setHeaders: (reply, path) => {
        reply.header(
          'cache-control',
          isHashed(path) ? `public, max-age=${365 * dayS}, immutable` : 'no-cache',
        );
      },
    });
  }
  app.setNotFoundHandler((request, reply) => {
    if (!isPage(request)) throw notFound(request);
    if (!existsSync(join(webDir, 'index.html'))) throw new ServerError('DASHBOARD_NOT_BUILT');
    return sendPage(reply);
  });
}

function sendPage(reply: FastifyReply): FastifyReply {
  return reply.code(200).sendFile('index.html');
}

/** URLs outside the API without a file extension are routed by the dashboard. */
function isPage({ method, url }: FastifyRequest): boolean {
  const path = url.split('?')[0]!;
  if (method !== 'GET' && method !== 'HEAD') return false;
  return !/^\/(api|metrics|openapi\.json)(\/|$)/.test(path) && !/\.[a-z0-9]+$/i.test(path);
}

/** Whether a browser opens a page, or the API's description, and has yet to show the key. */
export function wantsLogin({ method, url, headers }: FastifyRequest, error: unknown): boolean {
  const isRefused = error instanceof ServerError && error.code === 'KEY_REQUIRED';
  return isRefused && method === 'GET' && !url.startsWith('/api/') && /text\/html/.test(headers.accept ?? '');
}

/** The login page, which leads on to where the browser wanted to go. */
export function loginUrl({ url }: FastifyRequest): string {
  return `/login?${new URLSearchParams({ next: url.slice(0, 2_000) })}`;
}

function notFound({ method, url }: FastifyRequest): ServerError {
  const path = url.split('?')[0]!.slice(0, 200);
  return new ServerError('ROUTE_NOT_FOUND', {
    message: `There is nothing at ${method} ${path}`,
    details: { method, path },
  });
}
