/** One server for all journeys, whatever worker they run in; ended with SIGTERM, which must be a clean end. */
import { serverUrlVariable } from './journey.ts';
import { LabServer } from './server.ts';

export default async function setUp(): Promise<() => Promise<void>> {
  const server = await LabServer.start();
  process.env[serverUrlVariable] = server.url;
  return async () => {
    const code = await server.stop();
    if (code !== 0)
      throw new Error(`the server ended with ${code} on SIGTERM; its last output:\n${server.output}`);
  };
}
