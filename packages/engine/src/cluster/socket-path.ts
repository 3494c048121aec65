/** Where the sockets of a cluster's folder lie. */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** In the folder, unless the path is longer than a socket's may be (108 bytes on Linux, 104 on macOS). */
export function socketPath(dir: string, name: string): string {
  const path = join(resolve(dir), name);
  if (Buffer.byteLength(path) < 100) return path;
  return join(tmpdir(), `shardlab-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sock`);
}
