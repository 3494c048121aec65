/**
 * The server process. Settings: `config.ts`. Prints one line once it serves; if it cannot, it prints one sentence on stderr and
 * exits with 1. SIGTERM, SIGINT and SIGHUP shut it down cleanly. When it cannot continue it exits at once with a code of
 * `exit.ts`, so that its supervisor restarts it.
 */
import { QueueError } from '@shardlab/engine';
import { createApp } from './app.ts';
import { type Config, readConfig } from './config.ts';
import { ServerError } from './errors.ts';
import { exitCodeOf, exitCodes, exitNow } from './exit.ts';
import type { App } from './http/app-types.ts';
import { listeningPort } from './http/listening-port.ts';

// Only the owner may access files that the lab and the processes of the instances create, like those of the engine.
process.umask(0o077);

/**
 * Sessions, streams and the active run end within moments, and a process of an instance is killed if it takes over 30 s: a server that
 * takes longer than this hangs.
 */
const closeMsMax = 40_000;

let app: App | undefined;
let ending = false;

/** Later signals are ignored: for one Ctrl-C the process receives one from the terminal and one from npm. */
function shutDown(): void {
  if (ending) return;
  ending = true;
  const timeout = setTimeout(
    () => exitWithError(`The server did not shut down within ${closeMsMax / 1000} s`),
    closeMsMax,
  );
  timeout.unref();
  const closed = app?.close() ?? Promise.resolve();
  closed.then(
    () => process.exit(0),
    (error: unknown) => exitWithError(sentenceOf(error)),
  );
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, shutDown);

try {
  const config = readConfig(process.env);
  app = await createApp({
    dataDir: config.dataDir,
    key: config.key,
    tls: config.tls,
    services: config.services,
    nats: config.nats,
    onUnrecoverable: (error) => {
      console.error(`shardlab: ${sentenceOf(error)}`);
      exitNow(exitCodeOf(error));
    },
    logger: { level: config.logLevel, stream: process.stderr },
  });
  await listen(app, config);
  const port = listeningPort(app) ?? config.port;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  console.log(
    `shardlab: serving on ${config.tls === null ? 'http' : 'https'}://${host}:${port} (${config.nats === null ? '' : `queues on ${[config.nats.nats].flat().join(', ')}, `}data in ${config.dataDir})`,
  );
} catch (error) {
  await app?.close().catch(() => undefined);
  exitWithError(sentenceOf(error));
}

async function listen(app: App, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const sentence =
      code === 'EADDRINUSE'
        ? `Port ${port} on ${host} is in use by another process; set PORT to a different port`
        : `The server cannot listen on ${host} port ${port}: ${message}`;
    throw new ServerError('ADDRESS_UNUSABLE', { message: sentence, cause });
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof QueueError && error.code === 'INSTANCE_IN_USE') {
    const { pid } = error.details;
    return `The data folder is in use by another server, process ${String(pid)}; stop that server or set DATA_DIR to another folder`;
  }
  if (error instanceof QueueError) return `${error.message} (${error.code} ${JSON.stringify(error.details)})`;
  if (error instanceof ServerError) return error.message;
  return `The server failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function exitWithError(sentence: string): never {
  console.error(`shardlab: ${sentence}`);
  exitNow(exitCodes.failed);
}
