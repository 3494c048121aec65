/** HTTP without any route: what every request passes before its handler, and how errors are answered. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { ErrorBody } from '@shardlab/contract';
import fastify, { type FastifyReply, type FastifyServerOptions } from 'fastify';
import type { TlsFiles } from './config.ts';
import { ServerError } from './errors.ts';
import { Admission } from './http/admission.ts';
import { refuseOtherMethods } from './http/allowed-methods.ts';
import type { App } from './http/app-types.ts';
import { limitBodyTime, type Pace } from './http/body-pace.ts';
import type { BrowserSessions } from './http/browser-sessions.ts';
import { answerClientError } from './http/client-errors.ts';
import { shareConnections } from './http/connections.ts';
import { compressAnswers, refuseEncoded } from './http/content-encoding.ts';
import { createGuard } from './http/guard.ts';
import { answerHalfClosed } from './http/half-closed.ts';
import { readJsonBodies } from './http/json-body.ts';
import type { KeyCheck } from './http/key-check.ts';
import { listeningPort } from './http/listening-port.ts';
import { mapError } from './http/map-error.ts';
import type { HidePaths } from './http/private-paths.ts';
import { setSecurityHeaders } from './http/security-headers.ts';
import { validateRequest } from './http/validation.ts';
import { limits } from './limits.ts';
import { loginUrl, wantsLogin } from './routes/dashboard-routes.ts';

export interface HttpOptions {
  logger: NonNullable<FastifyServerOptions['logger']>;
  tls: TlsFiles | null;
  hidePaths: HidePaths;
  /** Null: no key is required. */
  keyCheck: Pick<KeyCheck, 'assertRight'> | null;
  sessions: BrowserSessions;
  bodyPace: Pace;
  /** Aborted when the server shuts down: requests are refused, and connections end with their responses. */
  closing: AbortSignal;
}

export interface Http {
  /** Routes are added to it. */
  app: App;
  admission: Admission;
}

export function createHttp(options: HttpOptions): Http {
  const { tls, keyCheck, sessions, bodyPace, closing } = options;
  const app = createFastify(options);
  const guard = createGuard({
    keyCheck,
    sessions,
    scheme: tls === null ? 'http' : 'https',
    // Only an injected request has no socket that knows.
    port: ({ socket }) => socket.localPort ?? listeningPort(app),
  });
  app.decorateRequest('isAdmitted', true);
  app.addHook('onRequest', async (request, reply) => {
    setSecurityHeaders(reply);
    try {
      guard(request);
    } catch (error) {
      if (wantsLogin(request, error)) return reply.redirect(loginUrl(request), 303);
      throw error;
    }
    if (closing.aborted) throw new ServerError('SERVER_CLOSING');
  });
  refuseOtherMethods(app);
  const admission = new Admission(bodyPace);
  app.addHook('preParsing', async (request, reply, body) => {
    refuseEncoded(request, reply);
    admission.body(request, reply);
    return body;
  });
  limitBodyTime(app, { ms: limits.requestMs, pace: bodyPace });
  shareConnections(app.server, limits.connectionsMax);
  answerHalfClosed(app.server);
  compressAnswers(app);
  // A connection whose request was in progress when the server began to close would keep it open for as long as the
  // client likes.
  app.addHook('onSend', async (_request, reply) => {
    if (closing.aborted) reply.header('connection', 'close');
  });
  return { app, admission };
}

function createFastify({ logger, tls, hidePaths }: HttpOptions): App {
  const app = fastify({
    ...(tls === null ? {} : { https: tls }),
    logger,
    bodyLimit: limits.bodyBytes,
    // Bodies have their own timeout (`body-pace.ts`): a streamed payload may take longer than any other.
    requestTimeout: 0,
    http: { headersTimeout: limits.requestMs },
    // Idle connections are closed at once; requests in progress get their responses.
    forceCloseConnections: 'idle',
    // The server's own SERVER_CLOSING has the usual error format.
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.pathParameterUnitsMax },
    clientErrorHandler: (error, socket) => answerClientError(error, socket as Socket),
    frameworkErrors: (error, _request, reply) => {
      const { status, body } = mapError(error);
      setSecurityHeaders(reply);
      (reply as FastifyReply).code(status).send(hidePaths(body));
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(validateRequest);
  // Response schemas serve the API description and its tests; what a handler returns is sent unchanged.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => {
    const { status, body, unexpected } = mapError(error);
    if (unexpected) request.log.error({ err: error }, 'request failed');
    if (status === 429 || status === 503) reply.header('retry-after', retryAfterS(body));
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    return reply.code(status).type('application/json; charset=utf-8').send(hidePaths(body));
  });
  app.removeContentTypeParser('text/plain');
  readJsonBodies(app as unknown as App);
  return app as unknown as App;
}

function retryAfterS({ details }: ErrorBody): number {
  const ms = details?.retryAfterMs;
  return typeof ms === 'number' ? Math.ceil(ms / 1000) : 1;
}
