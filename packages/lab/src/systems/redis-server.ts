/** Redis on a Unix socket, in one of the modes by which it keeps messages. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { accepts, findProgram, readyServer, type ServerKind, spawnServer } from './driver/server.ts';

const program = () => findProgram('redis-server');

/** `snapshot`: all data from time to time, by Redis's usual rules. Otherwise each write is appended to a file. */
export type RedisMode = 'snapshot' | 'everysec' | 'always';

const optionsOf: Record<RedisMode, Record<string, string>> = {
  snapshot: { save: '3600 1 300 100 60 10000', appendonly: 'no' },
  everysec: { save: '', appendonly: 'yes', appendfsync: 'everysec' },
  always: { save: '', appendonly: 'yes', appendfsync: 'always' },
};

export const redis: ServerKind = {
  aptPackage: 'redis-server',
  version() {
    const path = program();
    if (path === null) return null;
    return /v=(\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
  },
  async start({ dir, socketDir, durability }) {
    const endpoint = join(socketDir, 'redis.sock');
    const options: Record<string, string> = {
      port: '0',
      unixsocket: endpoint,
      dir,
      daemonize: 'no',
      // A rewrite of the append-only file during a window of two seconds would distort the result.
      'auto-aof-rewrite-percentage': '0',
      ...optionsOf[durability as RedisMode],
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    const server = spawnServer(program()!, args, { cwd: dir });
    await server.untilReady(() => accepts(endpoint));
    return readyServer([endpoint], [server]);
  },
};
