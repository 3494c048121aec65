import { Cluster, Kill, Topology } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { ClusterWatch } from '../cluster/cluster-watch.ts';
import type { App } from '../http/app-types.ts';
import type { EventStreams } from '../http/event-streams.ts';

const tags = ['cluster'];
const params = Type.Object({ instance: Type.Integer({ minimum: 1, maximum: 64 }) });
const response = { 200: Cluster };

export interface ClusterRoutesOptions {
  cluster: ClusterService;
  watch: ClusterWatch;
  streams: EventStreams;
}

/** The cluster behind the queue API: who hosts what, and faults to order. Each answer is the cluster as it is then. */
export function clusterRoutes(app: App, { cluster, watch, streams }: ClusterRoutesOptions): void {
  app.get(
    '/api/cluster',
    { schema: { summary: 'Instances, who hosts them, their figures, and what happened', tags, response } },
    async () => cluster.describe(),
  );
  app.get(
    '/api/cluster/events',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'The cluster as it changes, as server-sent events: all of it, then what is new',
        tags,
        produces: ['text/event-stream'],
      },
    },
    async (_request, reply) => {
      streams.assertRoom();
      let stop = () => {};
      const stream = streams.open(reply, () => stop());
      stop = watch.follow(stream);
    },
  );
  app.put(
    '/api/cluster/topology',
    {
      schema: {
        summary:
          'Add instances, or remove those of the highest numbers; removed ones are served until they are empty',
        tags,
        body: Topology,
        response,
      },
    },
    async (request) => {
      await cluster.resize(request.body.instances);
      return cluster.describe();
    },
  );
  app.post(
    '/api/cluster/instances/:instance/kill',
    {
      preValidation: async (request) => {
        request.body ??= {};
      },
      schema: {
        summary: 'Send a signal to the process of an instance; another one takes the instance over',
        tags,
        params,
        body: Kill,
        response,
      },
    },
    async (request) => {
      cluster.kill(request.params.instance, request.body.signal ?? 'SIGKILL');
      return cluster.describe();
    },
  );
  app.post(
    '/api/cluster/instances/:instance/stop',
    {
      schema: {
        summary: 'End the process of an instance in order; another one takes the instance over at once',
        tags,
        params,
        response,
      },
    },
    async (request) => {
      await cluster.stop(request.params.instance);
      return cluster.describe();
    },
  );
  app.post(
    '/api/cluster/instances/:instance/start',
    {
      schema: { summary: 'Start the process of an instance, which gets it back', tags, params, response },
    },
    async (request) => {
      await cluster.start(request.params.instance);
      return cluster.describe();
    },
  );
}
