/** A known URL with a method that it does not have is refused with 405 and the methods that it has. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';

/** Must be called before the routes are added. Routes with a wildcard serve files and are ignored. */
export function refuseOtherMethods(app: App): void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return;
    const methods = methodsOf.get(url) ?? new Set();
    methodsOf.set(url, methods);
    for (const each of [method].flat()) methods.add(each);
  });
  let known: [path: RegExp, methods: Set<string>][] = [];
  app.addHook('onReady', async () => {
    // A URL without parameters comes first, as in the router: /api/scenarios/validate is no scenario.
    const urls = [...methodsOf].sort(([a], [b]) => parameters(a) - parameters(b));
    known = urls.map(([url, methods]) => [toPath(url), methods]);
  });
  app.addHook('onRequest', async (request, reply) => {
    // The dashboard's files have the address `*`, for GET.
    if (request.is404 || request.routeOptions.url?.includes('*')) refuseOther(request, reply);
  });

  function refuseOther({ method, url }: FastifyRequest, reply: FastifyReply): void {
    const path = url.split('?')[0]!;
    const [, methods] = known.find(([pattern]) => pattern.test(path)) ?? [];
    if (methods === undefined || methods.has(method)) return;
    const allowed = [...methods].sort();
    reply.header('allow', allowed.join(', '));
    throw new ServerError('METHOD_NOT_ALLOWED', {
      message: `${method} is not a method of this address; it has ${allowed.join(', ')}`,
      details: { method, allowed },
    });
  }
}

const parameters = (url: string) => url.split('/:').length;

/** Converts a route's URL to a pattern: a parameter is one segment, and a slash may follow. */
function toPath(url: string): RegExp {
  const segments = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')));
  return new RegExp(`^${segments.join('/')}/?$`);
}
