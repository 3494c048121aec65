/** NATS with JetStream on a free loopback port, because it does not support Unix sockets. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, type ServerKind, spawnServer } from '../server.ts';

export const natsSynced = 'sync always';
export const natsUnsynced = 'sync every 2 min';
const program = () => findProgram('nats-server');

function configuration(storeDir: string, durability: string): string {
  const sync = durability === natsSynced ? ', sync_interval: always' : '';
  return `host: 127.0.0.1\nport: -1\njetstream { store_dir: ${JSON.stringify(storeDir)}${sync} }\n`;
}

/** Whether the installed server can sync before it acknowledges (from 2.10 on); tested with the server itself. */
function acceptsConfiguration(durability: string): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-nats-'));
  try {
    const file = join(dir, 'test.conf');
    writeFileSync(file, configuration(dir, durability));
    return spawnSync(program()!, ['-t', '-c', file], { stdio: 'ignore' }).status === 0;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export const nats: ServerKind = {
  aptPackage: 'nats-server',
  version() {
    const path = program();
    if (path === null) return null;
    return /v(\d\S*)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
  },
  refuses(durability) {
    if (acceptsConfiguration(durability)) return null;
    return `nats-server 2.10, which can sync before it acknowledges; ${this.version()} is installed`;
  },
  async start({ dir, socketDir, durability }) {
    const file = join(dir, 'nats.conf');
    writeFileSync(file, configuration(join(dir, 'jetstream'), durability));
    const server = spawnServer(program()!, ['-c', file, '--ports_file_dir', socketDir], { cwd: dir });
    const ports = join(socketDir, `nats-server_${server.child.pid}.ports`);
    let endpoint = '';
    await server.untilReady(async () => {
      try {
        endpoint = (JSON.parse(readFileSync(ports, 'utf8')) as { nats: string[] }).nats[0] ?? '';
      } catch {
        // not written yet
      }
      return endpoint !== '';
    });
    return { endpoints: [endpoint], pids: [server.child.pid!], stop: () => server.stop() };
  },
};
