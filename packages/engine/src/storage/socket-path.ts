/** Paths of the sockets of a cluster's folder. */

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { InstanceId } from '../model/ids.ts';

/** Path of a socket in the folder, or in the temporary folder if it is too long for a socket (108 bytes on Linux, 104 on macOS). */
export function socketPath(dir: string, name: string): string {
  const path = join(resolve(dir), name);
  if (Buffer.byteLength(path) < 100) return path;
  return join(tmpdir(), `shardlab-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sock`);
}

export function instanceSocketPath(dir: string, instance: InstanceId): string {
  return socketPath(dir, `instance-${instance}.sock`);
}
