/** Reads the settings from environment variables. Throws `CONFIG_INVALID`, `HOST_NEEDS_KEY`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type NatsOptions, parseStoreAddress, type ServiceSpec } from '@shardlab/engine';
import { ServerError } from './errors.ts';
import { readServices } from './read-services.ts';

/** As PEM. */
export interface TlsFiles {
  cert: string;
  key: string;
}

export interface Config {
  host: string;
  /** 0: any free port. */
  port: number;
  dataDir: string;
  key: string | null;
  /** Null: plain HTTP. */
  tls: TlsFiles | null;
  logLevel: string;
  /** Singleton services of the cluster. */
  services: ServiceSpec[];
  /** Servers that have the queues; null: the data folder has them. */
  nats: NatsOptions | null;
}

const defaults = { host: '127.0.0.1', port: 7070, dataDir: './data' } as const;
const logLevels: readonly string[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const host = env.HOST || defaults.host;
  const key = env.SHARDLAB_KEY || null;
  if (key === null && !isLoopback(host)) {
    throw new ServerError('HOST_NEEDS_KEY', {
      message: `HOST=${host} would open this server to the network; set SHARDLAB_KEY as well: every request must then carry that key`,
    });
  }
  const logLevel = env.LOG_LEVEL || 'warn';
  if (!logLevels.includes(logLevel)) {
    throw new ServerError('CONFIG_INVALID', {
      message: `LOG_LEVEL=${logLevel} is not one of ${logLevels.join(', ')}`,
    });
  }
  const dataDir = resolve(env.DATA_DIR || defaults.dataDir);
  const services = env.SERVICES ? readServices(resolve(env.SERVICES)) : [];
  const nats = env.STORE ? readStore(env.STORE) : null;
  if (nats !== null && services.length > 0) {
    throw new ServerError('CONFIG_INVALID', {
      message:
        'SERVICES and STORE exclude each other: singleton services run on instances, and a store of other servers has none',
    });
  }
  return { host, key, port: readPort(env.PORT), dataDir, tls: readTls(env), logLevel, services, nats };
}

/** The text itself may have a password, so it is not shown. */
function readStore(address: string): NatsOptions {
  try {
    return parseStoreAddress(address);
  } catch (cause) {
    throw new ServerError('CONFIG_INVALID', {
      message: `STORE is invalid: ${(cause as Error).message}`,
      cause,
    });
  }
}

function readTls({ TLS_CERT, TLS_KEY }: Readonly<Record<string, string | undefined>>): TlsFiles | null {
  if (!TLS_CERT && !TLS_KEY) return null;
  if (!TLS_CERT || !TLS_KEY) {
    throw new ServerError('CONFIG_INVALID', {
      message: `TLS_CERT and TLS_KEY belong together; ${TLS_CERT ? 'TLS_KEY' : 'TLS_CERT'} is not set`,
    });
  }
  const tls = { cert: readPem('TLS_CERT', TLS_CERT), key: readPem('TLS_KEY', TLS_KEY) };
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw new ServerError('CONFIG_INVALID', {
      message: `TLS_CERT=${TLS_CERT} and TLS_KEY=${TLS_KEY} are not a certificate and its private key as PEM: ${(cause as Error).message}`,
      cause,
    });
  }
  return tls;
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ServerError('CONFIG_INVALID', {
      message: `${name}=${path} cannot be read: ${(cause as Error).message}`,
      cause,
    });
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return defaults.port;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new ServerError('CONFIG_INVALID', {
    message: `PORT=${text} is not a port; it must be a number from 0 to 65535`,
  });
}
