import { LoadAnswer, StartLoad } from '@shardlab/contract';
import type { App } from '../http/app-types.ts';
import type { LoadService } from '../load/load-service.ts';

const tags = ['cluster'];
const url = '/api/cluster/load';
const response = { 200: LoadAnswer };

/** A bounded load that keeps book of every message: to see what a failover does to it. */
export function loadRoutes(app: App, { loads }: { loads: LoadService }): void {
  app.post(
    url,
    {
      preValidation: async (request) => {
        request.body ??= {};
      },
      schema: {
        summary: 'Start a load: it ends by itself, and says what was lost or doubled',
        tags,
        body: StartLoad,
        response: { 202: LoadAnswer },
      },
    },
    async (request, reply) => reply.code(202).send({ load: await loads.start(request.body) }),
  );
  app.get(url, { schema: { summary: 'The newest load', tags, response } }, async () => ({
    load: loads.load?.report() ?? null,
  }));
  app.delete(
    url,
    { schema: { summary: 'Stop the load: what it enqueued is still consumed', tags, response } },
    async () => {
      loads.stop();
      return { load: loads.load?.report() ?? null };
    },
  );
}
