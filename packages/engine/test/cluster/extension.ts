/** An extension that the processes of a cluster run beside their instance. It writes the arguments that it was given to a file. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, ProcessExtension, ProcessHost } from '../../src/index.ts';

export function createExtension(host: ProcessHost, options: Json): ProcessExtension {
  const file = join(host.dir, `extension-${host.instance}`);
  const hosted = () => host.hosted().map(({ id }) => id);
  writeFileSync(file, `${options} ${hosted()}`);
  return {
    close: async () => appendFileSync(file, ` until it closed ${hosted()}`),
  };
}
