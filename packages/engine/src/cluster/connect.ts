/** Connects to an instance that another process serves. */

import { QueueError } from '../api/errors.ts';
import type { RemoteInstance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { connectLink } from '../client/connect.ts';
import { assertFields, assertName, fieldsOf } from '../model/call-arguments.ts';
import type { InstanceId } from '../model/ids.ts';
import { validateRange } from '../model/session-calls.ts';
import { nodePorts } from '../node-ports.ts';
import { instanceSocketPath } from '../storage/socket-path.ts';

export interface ConnectOptions {
  /** Folder of the cluster. Either `dir` or `path` is needed. */
  dir?: string;
  /** The instance in `dir`; default 1. */
  instance?: InstanceId;
  /** Path of the socket. */
  path?: string;
  /** How long to retry, now and whenever the connection is lost, ms; default 10,000, at most 60,000. */
  connectMs?: number;
}

const connectFields = fieldsOf<ConnectOptions>('connect', {
  dir: 'string',
  instance: 'number',
  path: 'string',
  connectMs: 'number',
});

/** Returns once the instance answers. Throws `INSTANCE_UNREACHABLE`, `PROTOCOL_VERSION`, `OPTIONS_INVALID`. */
export async function connect(options: ConnectOptions): Promise<RemoteInstance> {
  assertFields(options, connectFields);
  const { dir, instance = 1, connectMs = limits.connectMsDefault } = options;
  if (options.path === undefined && dir === undefined)
    throw new QueueError('OPTIONS_INVALID', { message: 'Either dir or path is required' });
  validateRange('instance', instance, 1, limits.instancesMax);
  if (options.path === undefined) assertName('dir', dir);
  else assertName('path', options.path);
  const path = options.path ?? instanceSocketPath(dir!, instance);
  if (!Number.isInteger(connectMs) || connectMs < 1 || connectMs > limits.connectMsMax) {
    throw new QueueError('OPTIONS_INVALID', { message: `connectMs must be 1 to ${limits.connectMsMax}` });
  }
  return connectLink({ path, connectMs, ports: nodePorts });
}
