/** Redis on a Unix socket, with an append-only file synced always or every second, and without snapshots. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { accepts, findProgram, type ServerKind, spawnServer } from './server.ts';

const program = () => findProgram('redis-server');

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
      save: '',
      appendonly: 'yes',
      appendfsync: durability,
      // A rewrite of the append-only file during a window of two seconds would distort the result.
      'auto-aof-rewrite-percentage': '0',
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    const server = spawnServer(program()!, args, { cwd: dir });
    await server.untilReady(() => accepts(endpoint));
    return { endpoints: [endpoint], pids: [server.child.pid!], stop: () => server.stop() };
  },
};
