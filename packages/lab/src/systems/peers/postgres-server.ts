/**
 * PostgreSQL as a private cluster on a Unix socket. It refuses root, so root runs it as another user. Creating a cluster takes
 * seconds: it is created once beside the folders of the trials, which get copies.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { accepts, findProgram, readyServer, type ServerKind, spawnServer } from '../driver/server.ts';

/** Debian does not put the programs of each version on the PATH; the newest version is used. */
function program(name: string): string | null {
  const parent = '/usr/lib/postgresql';
  const versions = existsSync(parent) ? readdirSync(parent).sort((a, b) => Number(b) - Number(a)) : [];
  return findProgram(
    name,
    versions.map((version) => join(parent, version, 'bin')),
  );
}

/** Root must run the server as another user; other users cannot change theirs. */
function identity(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string, user: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: id('-u', user), gid: id('-g', user) };
    } catch {
      // no such user
    }
  }
  return {};
}

export const postgres: ServerKind = {
  aptPackage: 'postgresql',
  version() {
    const path = program('postgres');
    if (path === null || program('initdb') === null) return null;
    return /\d+\.\d+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[0] ?? 'unknown';
  },
  refusesFolder(folder) {
    const who = identity();
    if (who.uid === undefined || spawnSync('test', ['-x', folder], { ...who, cwd: '/' }).status === 0)
      return null;
    const user = execFileSync('id', ['-nu', String(who.uid)], { encoding: 'utf8' }).trim();
    return `a data folder that the user ${user} can enter, because PostgreSQL refuses root: not ${folder}; name another with --data-dir`;
  },
  async start({ dir, socketDir }) {
    const who = identity();
    const template = join(dirname(dir), 'postgres-template');
    if (who.uid !== undefined) {
      for (const folder of [dir, socketDir]) execFileSync('chown', [`${who.uid}:${who.gid}`, folder]);
    }
    const data = join(dir, 'data');
    if (existsSync(template)) {
      cpSync(template, data, { recursive: true, preserveTimestamps: true });
      if (who.uid !== undefined) execFileSync('chown', ['-R', `${who.uid}:${who.gid}`, data]);
    } else {
      const args = ['-D', data, '-U', 'shardlab', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
      execFileSync(program('initdb')!, args, { ...who, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
      cpSync(data, `${template}.new`, { recursive: true, preserveTimestamps: true });
      renameSync(`${template}.new`, template);
    }
    const settings: Record<string, string> = {
      listen_addresses: '',
      unix_socket_directories: socketDir,
      fsync: 'on',
      synchronous_commit: 'on',
      shared_buffers: '512MB',
      max_wal_size: '4GB',
      max_connections: '200',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawnServer(program('postgres')!, ['-D', data, ...args], { ...who, cwd: dir });
    await server.untilReady(() => accepts(join(socketDir, '.s.PGSQL.5432')));
    return readyServer([socketDir], [server], (each) => each.stop('SIGINT'));
  },
};
