/** Assembles the server without a socket: the caller calls `listen`, tests inject requests. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { ErrorBody } from '@shardlab/contract';
import type { NatsOptions, QueueError, ServiceSpec } from '@shardlab/engine';
import fastify, { type FastifyReply, type FastifyServerOptions } from 'fastify';
import { ClusterService } from './cluster/cluster-service.ts';
import { ClusterWatch } from './cluster/cluster-watch.ts';
import type { TlsFiles } from './config.ts';
import { ServerError } from './errors.ts';
import { Admission } from './http/admission.ts';
import { refuseOtherMethods } from './http/allowed-methods.ts';
import type { App } from './http/app-types.ts';
import { limitBodyTime, type Pace } from './http/body-pace.ts';
import { BrowserSessions } from './http/browser-sessions.ts';
import { answerClientError } from './http/client-errors.ts';
import { endConnections, shareConnections } from './http/connections.ts';
import { EventStreams } from './http/event-streams.ts';
import { createGuard } from './http/guard.ts';
import { readJsonBodies } from './http/json-body.ts';
import { KeyCheck } from './http/key-check.ts';
import { listeningPort } from './http/listening-port.ts';
import { mapError } from './http/map-error.ts';
import { createPathHider, type HidePaths } from './http/private-paths.ts';
import { describeRefusals } from './http/refusals.ts';
import { setSecurityHeaders } from './http/security-headers.ts';
import { validateRequest } from './http/validation.ts';
import { limits } from './limits.ts';
import { LoadService } from './load/load-service.ts';
import { type CpuTimes, readCpu } from './machine-cpu.ts';
import { ConversionService } from './queues/conversion-service.ts';
import { QueueHistories } from './queues/queue-histories.ts';
import { QueueService } from './queues/queue-service.ts';
import { oldestReadyAgeMs } from './queues/queue-stats.ts';
import { TransactionService } from './queues/transaction-service.ts';
import { claimRoutes } from './routes/claim-routes.ts';
import { clusterRoutes } from './routes/cluster-routes.ts';
import { conversionRoutes } from './routes/conversion-routes.ts';
import { dashboardRoutes, loginUrl, wantsLogin } from './routes/dashboard-routes.ts';
import { hardwareRoutes } from './routes/hardware-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { loadRoutes } from './routes/load-routes.ts';
import { machineRoutes } from './routes/machine-routes.ts';
import { messageRoutes } from './routes/message-routes.ts';
import { metricsRoutes } from './routes/metrics-routes.ts';
import { openApi } from './routes/openapi.ts';
import { payloadRoutes } from './routes/payload-routes.ts';
import { queueHistoryRoutes } from './routes/queue-history-routes.ts';
import { queueRoutes } from './routes/queue-routes.ts';
import { redriveRoutes } from './routes/redrive-routes.ts';
import { runLabelRoutes } from './routes/run-label-routes.ts';
import { runRoutes } from './routes/run-routes.ts';
import { scenarioRoutes } from './routes/scenario-routes.ts';
import { serviceRoutes } from './routes/service-routes.ts';
import { sessionRoutes } from './routes/session-routes.ts';
import { storeRoutes } from './routes/store-routes.ts';
import { subscriberRoutes } from './routes/subscriber-routes.ts';
import { transactionRoutes } from './routes/transaction-routes.ts';
import { unsupportedApiRoutes } from './routes/unsupported-routes.ts';
import { ClaimHistory } from './runs/claim-history.ts';
import { RecordedRuns } from './runs/recorded-runs.ts';
import { RunJournals } from './runs/run-journals.ts';
import { RunService } from './runs/run-service.ts';
import { ScenarioLibrary } from './scenarios/scenario-library.ts';
import { prepareDataDir } from './store/data-dir.ts';
import { openLabDatabase } from './store/lab-database.ts';
import { RunStore } from './store/run-store.ts';
import { ScenarioStore } from './store/scenario-store.ts';
import { version } from './version.ts';

export interface AppOptions {
  /** Folder of all stored data; created if missing. Only one process at a time can use it. */
  dataDir: string;
  /** Built dashboard; default `apps/web/dist`. */
  webDir?: string;
  /** Folder of the recorded runs; default: the repository's. */
  recordedDir?: string;
  /** The key that every request must carry, or a session's cookie. Null, the default: no key, and Host must be a loopback name. */
  key?: string | null;
  /**
   * Called once if the queues cannot be served any more unless the process is started anew: `PROCESS_RESTARTS_EXHAUSTED`,
   * `CLUSTER_DEPOSED`, `INSTANCE_FENCED`, `INSTANCE_FAILED`, `INVARIANT_BROKEN`, `WRITER_SILENT`. By default the app serves
   * on what it still can.
   */
  onUnrecoverable?: (error: QueueError) => void;
  /** Certificate and its private key as PEM. Null, the default: plain HTTP. */
  tls?: TlsFiles | null;
  /** Singleton services of the cluster; default none. */
  services?: readonly ServiceSpec[];
  /** Servers that have the queues. Null, the default: the data folder has them. */
  nats?: NatsOptions | null;
  logger?: FastifyServerOptions['logger'];
  /** Epoch milliseconds. */
  now?: () => number;
  /** Monotonic milliseconds. */
  monotonicMs?: () => number;
  heartbeatMs?: number;
  /** The machine's cores since its start; default: `readCpu`. */
  cpu?: () => CpuTimes;
  streamsMax?: number;
  /** Default: `limits.bodyPace`. */
  bodyPace?: Pace;
}

const defaultWebDir = fileURLToPath(new URL('../../web/dist', import.meta.url));

/**
 * Opens the data folder and returns the app, ready to listen or for injected requests. `close()` ends waiting calls
 * and streams, cancels the active run but keeps its points, and closes the files.
 * Throws what `ClusterService.open` throws, `HISTORY_FORMAT_NEWER`, `HISTORY_FORMAT_OLDER`, `DATA_DIR_UNUSABLE`.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { dataDir, now = Date.now } = options;
  prepareDataDir(dataDir);
  // First, because the claim on the cluster keeps a second server out of the whole folder.
  const cluster = await ClusterService.open(join(dataDir, 'cluster'), {
    services: options.services ?? [],
    nats: options.nats ?? null,
    onUnrecoverable: (error) => options.onUnrecoverable?.(error),
  });
  try {
    return await assemble(cluster, { ...options, now });
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

async function assemble(cluster: ClusterService, options: AppOptions & { now: () => number }): Promise<App> {
  const {
    dataDir,
    now,
    webDir = defaultWebDir,
    key = null,
    tls = null,
    bodyPace = limits.bodyPace,
  } = options;
  const file = openLabDatabase(join(dataDir, 'lab.db'));
  const store = new RunStore(file, { runsKeptMax: limits.runsKeptMax, now });
  const queues = new QueueService(cluster);
  const loads = new LoadService(cluster);
  const conversions = new ConversionService(cluster);
  const histories = new QueueHistories(
    {
      queues: async () => cluster.queues.queues(),
      async lagMs(queue) {
        if (cluster.store.store !== 'local') return null; // servers of a store have no statistics
        return oldestReadyAgeMs([await cluster.queues.queueStats(queue)].flat(), now());
      },
    },
    now,
  );
  const { heartbeatMs = limits.heartbeatMs, streamsMax = limits.streamsMax } = options;
  const streams = new EventStreams({
    max: streamsMax,
    unreadBytesMax: limits.streamUnreadBytes,
    heartbeatMs,
  });
  const closing = new AbortController();

  const hidePaths = createPathHider(dataDir);
  const app = createFastify({ logger: options.logger ?? false, tls, hidePaths });
  const recorded = await RecordedRuns.open(options.recordedDir);
  const history = new ClaimHistory(dataDir, store, recorded);
  const runs = new RunService({
    store,
    recorded,
    history,
    scratchDir: join(dataDir, 'runs'),
    journals: new RunJournals(join(dataDir, 'interrupted')),
    now,
    hidePaths,
    onFault: (error) => app.log.error({ err: error }, 'a run could not be recorded'),
  });
  const library = await ScenarioLibrary.open(new ScenarioStore(file, limits.scenariosMax), (sentence) =>
    app.log.warn(sentence),
  );
  const port = () => listeningPort(app);
  const nowMs = options.monotonicMs ?? (() => performance.now());
  const keyCheck = key === null ? null : new KeyCheck({ key, nowMs });
  const sessions = new BrowserSessions({ secure: tls !== null, nowMs });
  const guard = createGuard({ keyCheck, sessions, scheme: tls === null ? 'http' : 'https', port });
  app.addHook('onRequest', async (request, reply) => {
    setSecurityHeaders(reply);
    try {
      guard(request);
    } catch (error) {
      if (wantsLogin(request, error)) return reply.redirect(loginUrl(request), 303);
      throw error;
    }
    if (closing.signal.aborted) throw new ServerError('SERVER_CLOSING');
  });
  refuseOtherMethods(app);
  const admission = new Admission(bodyPace);
  app.addHook('preParsing', async (request, reply, body) => {
    admission.body(request, reply);
    return body;
  });
  limitBodyTime(app, { ms: limits.requestMs, pace: bodyPace });
  shareConnections(app.server, limits.connectionsMax);
  // A connection whose request was in progress when the server began to close would keep it open for as long as the
  // client likes.
  app.addHook('onSend', async (_request, reply) => {
    if (closing.signal.aborted) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    closing.abort();
    endConnections(app.server, limits.closeGraceMs);
    await Promise.all([runs.close(), loads.close(), conversions.close(), histories.close()]);
    streams.close();
  });
  app.addHook('onClose', async () => {
    file.close();
    await cluster.close();
  });

  describeRefusals(app);
  await openApi(app, { version });
  sessionRoutes(app, { keyCheck, sessions, now });
  healthRoutes(app, { cluster, version });
  metricsRoutes(app, { cluster, admission, runs: store, streams });
  scenarioRoutes(app, { library, now });
  hardwareRoutes(app);
  machineRoutes(app, { runs, loads, cpu: options.cpu ?? readCpu });
  runRoutes(app, { runs, library, streams });
  runLabelRoutes(app, { runs });
  claimRoutes(app, { history });
  storeRoutes(app, { cluster });
  queueRoutes(app, { cluster });
  conversionRoutes(app, { cluster, conversions });
  subscriberRoutes(app, { cluster });
  queueHistoryRoutes(app, { cluster, histories });
  redriveRoutes(app, { cluster });
  messageRoutes(app, { queues, admission, closing: closing.signal });
  transactionRoutes(app, { transactions: new TransactionService(cluster) });
  await payloadRoutes(app, { queues, admission, bodyPace });
  clusterRoutes(app, { cluster, watch: new ClusterWatch({ cluster, loads, now }), streams });
  serviceRoutes(app, { cluster });
  loadRoutes(app, { loads });
  unsupportedApiRoutes(app);
  await dashboardRoutes(app, { webDir });
  await app.ready();
  return app;
}

interface FastifyParts {
  logger: NonNullable<FastifyServerOptions['logger']>;
  tls: TlsFiles | null;
  hidePaths: HidePaths;
}

function createFastify({ logger, tls, hidePaths }: FastifyParts): App {
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
