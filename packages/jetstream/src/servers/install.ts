/** `npm run nats-server`: installs a NATS server beside the dependencies, unless one is on the PATH. */
import { installServer } from './find-server.ts';

const found = installServer();
if ('missing' in found) {
  console.error(found.missing);
  process.exitCode = 1;
} else console.log(`${found.program} (${found.version})`);
