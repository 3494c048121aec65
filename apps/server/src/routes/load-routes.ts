import { LoadAnswer, StartLoad } from '@shardlab/contract';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';
import { refusals } from '../http/refusals.ts';
import type { LoadService } from '../load/load-service.ts';

const tags = ['cluster'];
const url = '/api/cluster/load';
const response = { 200: LoadAnswer };

/** A bounded load that accounts for every message, to observe the effect of a failover. */
export function loadRoutes(app: App, { loads }: { loads: LoadService }): void {
  app.post(
    url,
    {
      preValidation: allowNoBody,
      schema: {
        summary: 'Start a load; it ends by itself and reports lost and duplicated messages',
        tags,
        body: StartLoad,
        response: { 202: LoadAnswer, ...refusals(409, 422) },
      },
    },
    async (request, reply) => reply.code(202).send({ load: await loads.start(request.body) }),
  );
  app.get(url, { schema: { summary: 'The latest load', tags, response } }, async () => ({
    load: loads.load?.report() ?? null,
  }));
  app.delete(
    url,
    { schema: { summary: 'Stop the load; messages already enqueued are still consumed', tags, response } },
    async () => {
      loads.stop();
      return { load: loads.load?.report() ?? null };
    },
  );
}
