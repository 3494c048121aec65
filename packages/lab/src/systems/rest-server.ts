/** The server of this repository in a process of its own, reached over HTTP; and one that only validates what it is sent. */
import { fileURLToPath } from 'node:url';
import { readyServer, type ServerKind, spawnServer } from './driver/server.ts';
import { HttpConnection } from './http-connection.ts';

const serverFile = fileURLToPath(new URL('../../../../apps/server/src/main.ts', import.meta.url));
const validatingFile = fileURLToPath(
  new URL('../../../../apps/server/src/validating-server.ts', import.meta.url),
);

/** With two or more instances each has a process of its own, behind that of the server. */
export const restServer = httpServer(serverFile, async (url, instances) => {
  if (instances > 1) await changeInstances(url, instances);
});

/** Keeps no message: its rate is what HTTP, JSON and validation allow. */
export const validatingServer = httpServer(validatingFile, async () => {});

function httpServer(file: string, prepare: (url: string, instances: number) => Promise<void>): ServerKind {
  return {
    aptPackage: null,
    version: () => 'ours',
    async start({ dir, instances }) {
      const env = { ...process.env, HOST: '127.0.0.1', PORT: '0', DATA_DIR: dir, LOG_LEVEL: 'error' };
      const server = spawnServer(process.execPath, [file], { env });
      const urlOf = () => /http:\/\/127\.0\.0\.1:\d+/.exec(server.output())?.[0];
      await server.untilReady(async () => urlOf() !== undefined);
      const url = urlOf()!;
      try {
        await prepare(url, instances);
      } catch (error) {
        await server.stop();
        throw error;
      }
      return readyServer([url], [server]);
    },
  };
}

async function changeInstances(url: string, instances: number): Promise<void> {
  const connection = await HttpConnection.open(url);
  const { status, body } = await connection.request(
    'PUT',
    '/api/cluster/topology',
    JSON.stringify({ instances }),
  );
  connection.close();
  if (status !== 200) throw new Error(`The server has no ${instances} instances: ${status} ${body}`);
}
