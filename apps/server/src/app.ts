/** Assembles the server without a socket: the caller calls `listen`, tests inject requests. */
import type { Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NatsOptions, ProcessExtensionSpec, QueueError, ServiceSpec } from '@shardlab/engine';
import { bundledStudies, removeAbandonedScratch, type StudyRegistry } from '@shardlab/lab';
import type { FastifyServerOptions } from 'fastify';
import { CalibrationService } from './calibration/calibration-service.ts';
import { ClusterService } from './cluster/cluster-service.ts';
import { ClusterWatch } from './cluster/cluster-watch.ts';
import type { TlsFiles } from './config.ts';
import { createHttp } from './create-http.ts';
import type { App } from './http/app-types.ts';
import type { Pace } from './http/body-pace.ts';
import { BrowserSessions } from './http/browser-sessions.ts';
import { endConnections } from './http/connections.ts';
import { EventStreams } from './http/event-streams.ts';
import { KeyCheck } from './http/key-check.ts';
import { createPathHider } from './http/private-paths.ts';
import { describeRefusals } from './http/refusals.ts';
import { limits } from './limits.ts';
import { LoadService } from './load/load-service.ts';
import { type CpuTimes, readCpu } from './machine-cpu.ts';
import { ConversionService } from './queues/conversion-service.ts';
import { QueueHistories } from './queues/queue-histories.ts';
import { QueueService } from './queues/queue-service.ts';
import { oldestReadyAgeMs, sumDeliveryLatency } from './queues/queue-stats.ts';
import { TransactionService } from './queues/transaction-service.ts';
import { calibrationRoutes } from './routes/calibration-routes.ts';
import { claimRoutes } from './routes/claim-routes.ts';
import { clusterRoutes } from './routes/cluster-routes.ts';
import { conversionRoutes } from './routes/conversion-routes.ts';
import { dashboardRoutes } from './routes/dashboard-routes.ts';
import { hardwareRoutes } from './routes/hardware-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { loadRoutes } from './routes/load-routes.ts';
import { machineRoutes } from './routes/machine-routes.ts';
import { measuredRoutes } from './routes/measured-routes.ts';
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
import { traceRoutes } from './routes/trace-routes.ts';
import { transactionRoutes } from './routes/transaction-routes.ts';
import { unsupportedApiRoutes } from './routes/unsupported-routes.ts';
import { ClaimHistory } from './runs/claim-history.ts';
import { RecordedRuns } from './runs/recorded-runs.ts';
import { RunFiles } from './runs/run-files.ts';
import { RunJournals } from './runs/run-journals.ts';
import { RunService } from './runs/run-service.ts';
import { ScenarioLibrary } from './scenarios/scenario-library.ts';
import { ConnectionMover } from './shared-port/connection-mover.ts';
import { prepareDataDir } from './store/data-dir.ts';
import { openLab } from './store/lab-database.ts';
import { QueueHistoryStore } from './store/queue-history-store.ts';
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
  /** The studies that scenarios may name and clients are told of; default: the bundled ones. Runs load them again, from their folders. */
  studies?: StudyRegistry;
  /** The key that every request must carry, or a session's cookie. Null, the default: no key, and Host must be a loopback name. */
  key?: string | null;
  /**
   * Called once if the process must be restarted before it can serve the queues again: `PROCESS_RESTARTS_EXHAUSTED`,
   * `CLUSTER_DEPOSED`, `INSTANCE_FENCED`, `INSTANCE_FAILED`, `INVARIANT_BROKEN`, `WRITER_SILENT`. By default the app keeps
   * serving everything else.
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

const historyReplaced = {
  code: 'STORAGE_REPLACED',
  message:
    'lab.db was deleted or replaced while it was in use: the next start does not find what the lab stored since',
};

const defaultWebDir = fileURLToPath(new URL('../../web/dist', import.meta.url));

/**
 * Opens the data folder and returns the app, ready to listen or for injected requests. `close()` ends waiting calls
 * and streams, cancels the active run but keeps its points, and closes the files.
 * Throws what `ClusterService.open` throws, `HISTORY_FORMAT_NEWER`, `HISTORY_FORMAT_OLDER`, `DATA_DIR_UNUSABLE`. A run history that
 * cannot be read stops nothing, see `openLab`.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { dataDir, now = Date.now } = options;
  prepareDataDir(dataDir);
  // First, because the claim on the cluster keeps a second server out of the whole folder.
  const cluster = await ClusterService.open(join(dataDir, 'cluster'), {
    services: options.services ?? [],
    nats: options.nats ?? null,
    extension: instanceHttp(options),
    onUnrecoverable: (error) => options.onUnrecoverable?.(error),
  });
  try {
    return await assemble(cluster, { ...options, now });
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** HTTP in the processes of instances. */
function instanceHttp({ key = null, logger }: AppOptions): ProcessExtensionSpec {
  const level = typeof logger === 'object' && 'level' in logger ? logger.level : undefined;
  const options = { keyed: key !== null, logLevel: level ?? 'silent' };
  return { module: new URL('./shared-port/instance-http.ts', import.meta.url).href, options };
}

async function assemble(cluster: ClusterService, options: AppOptions & { now: () => number }): Promise<App> {
  const {
    dataDir,
    now,
    webDir = defaultWebDir,
    studies = bundledStudies,
    key = null,
    tls = null,
    bodyPace = limits.bodyPace,
  } = options;
  const { file, notices, isInPlace } = openLab(dataDir, now());
  const onDamage = (sentence: string) => app.log.error(sentence);
  const store = new RunStore(file, { runsKeptMax: limits.runsKeptMax, now, notices, onDamage });
  const queues = new QueueService(cluster);
  const loads = new LoadService(cluster);
  const conversions = new ConversionService(cluster);
  const { heartbeatMs = limits.heartbeatMs, streamsMax = limits.streamsMax } = options;
  const streams = new EventStreams({
    max: streamsMax,
    unreadBytesMax: limits.streamUnreadBytes,
    allUnreadBytesMax: limits.streamsUnreadBytes,
    heartbeatMs,
  });
  const closing = new AbortController();

  const hidePaths = createPathHider(dataDir);
  const nowMs = options.monotonicMs ?? (() => performance.now());
  const keyCheck = key === null ? null : new KeyCheck({ key, nowMs });
  const sessions = new BrowserSessions({ secure: tls !== null, nowMs });
  const { app, admission } = createHttp({
    logger: options.logger ?? false,
    tls,
    hidePaths,
    keyCheck,
    sessions,
    bodyPace,
    closing: closing.signal,
  });
  for (const notice of notices) app.log.error(notice);
  const histories = new QueueHistories({
    queues: async () => cluster.queues.queues(),
    async statistics(queue) {
      if (cluster.store.store !== 'local') return null; // servers of a store have none
      const parts = [await cluster.queues.queueStats(queue)].flat();
      return { lagMs: oldestReadyAgeMs(parts, now()), deliveryLatency: sumDeliveryLatency(parts) };
    },
    now,
    store: new QueueHistoryStore(file, onDamage),
    onFault: (error) => app.log.error({ err: error }, 'the history of the queues could not be saved or read'),
  });
  const mover = new ConnectionMover({ server: app.server as Server, tls: tls !== null, cluster });
  const recorded = await RecordedRuns.open(options.recordedDir, onDamage);
  const history = new ClaimHistory({ dataDir, runs: store, recorded, studies, onDamage });
  const files = new RunFiles({ studies });
  const scratchDir = join(dataDir, 'runs');
  // Gigabytes may be in it, which the start does not wait for.
  const swept = removeAbandonedScratch(scratchDir).catch((error) =>
    app.log.error({ err: error }, 'files of an earlier run could not be removed'),
  );
  const runs = new RunService({
    store,
    recorded,
    files,
    studies,
    history,
    scratchDir,
    journals: new RunJournals(join(dataDir, 'interrupted')),
    now,
    hidePaths,
    onFault: (error) => app.log.error({ err: error }, 'a run could not be recorded'),
    onFailed: (run, error) => app.log.error({ run, error }, 'a run failed'),
  });
  const calibrations = new CalibrationService({
    path: join(dataDir, 'this-machine.json'),
    scratchDir,
    now,
    hidePaths,
    onFault: (error) => app.log.error({ err: error }, 'a calibration failed'),
  });
  const library = await ScenarioLibrary.open({
    uploaded: new ScenarioStore(file, { max: limits.scenariosMax, onDamage }),
    studies,
    onFault: (sentence) => app.log.warn(sentence),
  });
  app.addHook('preClose', async () => {
    closing.abort();
    endConnections(app.server, limits.closeGraceMs);
    mover.close(limits.closeGraceMs);
    await Promise.all([
      swept,
      runs.close(),
      loads.close(),
      conversions.close(),
      histories.close(),
      calibrations.close(),
    ]);
    streams.close();
  });
  app.addHook('onClose', async () => {
    await files.close();
    file.close();
    await cluster.close();
  });

  describeRefusals(app);
  await openApi(app, { version });
  sessionRoutes(app, { keyCheck, sessions, now });
  const reasons = async () => ((await isInPlace()) ? [] : [historyReplaced]);
  healthRoutes(app, { cluster, version, reasons });
  metricsRoutes(app, { cluster, admission, runs: store, streams });
  scenarioRoutes(app, { library, studies, now });
  hardwareRoutes(app, { calibrations });
  calibrationRoutes(app, { calibrations });
  measuredRoutes(app, { runs: store, files });
  machineRoutes(app, { runs, loads, calibrations, cpu: options.cpu ?? readCpu });
  runRoutes(app, { runs, library, studies, streams });
  runLabelRoutes(app, { runs });
  claimRoutes(app, { history, studies });
  storeRoutes(app, { cluster });
  queueRoutes(app, { cluster });
  conversionRoutes(app, { cluster, conversions });
  subscriberRoutes(app, { cluster });
  queueHistoryRoutes(app, { cluster, histories });
  redriveRoutes(app, { cluster });
  messageRoutes(app, { queues, admission, closing: closing.signal });
  traceRoutes(app, { cluster });
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
