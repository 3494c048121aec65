import { Cluster, clusterLimits, Kill, Topology, WaitRegistry } from '@shardlab/contract';
import { counters, waitEvents } from '@shardlab/engine';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { ClusterWatch } from '../cluster/cluster-watch.ts';
import type { App } from '../http/app-types.ts';
import type { EventStreams } from '../http/event-streams.ts';
import { allowNoBody } from '../http/json-body.ts';
import { eventStream, refusals } from '../http/refusals.ts';

const tags = ['cluster'];
const params = Type.Object({ instance: Type.Integer({ minimum: 1, maximum: clusterLimits.instancesMax }) });
const response = { 200: Cluster };
/** Responses of changes: an instance may be starting, leaving, or inside the server. */
const changed = { ...response, ...refusals(409, 422) };

export interface ClusterRoutesOptions {
  cluster: ClusterService;
  watch: ClusterWatch;
  streams: EventStreams;
}

/** The cluster behind the queue API: its topology, and faults on demand. Each response is the state after the call. */
export function clusterRoutes(app: App, { cluster, watch, streams }: ClusterRoutesOptions): void {
  app.get(
    '/api/cluster',
    { schema: { summary: 'The instances with their hosts, metrics and recent events', tags, response } },
    async () => cluster.describe(),
  );
  app.get(
    '/api/cluster/events',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'The cluster as server-sent events: a snapshot, then changes',
        tags,
        response: { 200: eventStream },
      },
    },
    async (_request, reply) => {
      let stop = () => {};
      const stream = streams.open(reply, () => stop());
      stop = watch.follow(stream);
    },
  );
  app.get(
    '/api/waits',
    {
      schema: {
        summary: 'What the names of wait events and counters mean, in metrics, runs and charts',
        tags,
        response: { 200: WaitRegistry },
      },
    },
    async () => ({
      events: waitEvents().map(({ name, class: ofClass, about, standsFor, emulated, oneHolderIn }) => ({
        name,
        class: ofClass,
        about,
        standsFor,
        emulated,
        hasHolder: oneHolderIn !== null,
      })),
      counters: counters().map(({ name, unit, about }) => ({ name, unit, about })),
    }),
  );
  app.put(
    '/api/cluster/topology',
    {
      schema: {
        summary:
          'Set the number of instances. Those with the highest numbers are removed first, and served until they are empty',
        tags,
        body: Topology,
        response: changed,
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
      preValidation: allowNoBody,
      schema: {
        summary: 'Send a signal to the process of an instance; another process takes the instance over',
        tags,
        params,
        body: Kill,
        response: changed,
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
        summary: 'Shut the process of an instance down; another process takes the instance over at once',
        tags,
        params,
        response: changed,
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
      schema: {
        summary: 'Start the process of an instance, which then takes its instance back',
        tags,
        params,
        response: changed,
      },
    },
    async (request) => {
      await cluster.start(request.params.instance);
      return cluster.describe();
    },
  );
}
