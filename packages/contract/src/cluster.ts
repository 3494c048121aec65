/** The cluster behind the queue API: its instances, the processes that host them, what happened to them. */
import Type, { type Static } from 'typebox';
import { ClusterLoad } from './load.ts';
import { WaitFigure } from './run.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const clusterLimits = { instancesMax: 64 } as const;

/** What an instance has done. Counts and CPU run from the moment it was opened where it is. */
export const InstanceFigures = Type.Object(
  {
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    commits: Type.Integer(),
    groups: Type.Integer({ description: 'Group commits: commits ÷ groups transactions shared a sync' }),
    cpuMs: Type.Object({ session: Type.Number(), writer: Type.Number() }, closed),
    shards: Type.Array(
      Type.Object(
        {
          shard: Type.Integer(),
          queue: Type.String(),
          backlog: Type.Integer(),
          cacheBytes: Type.Integer(),
          partitions: Type.Array(
            Type.Object(
              {
                partition: Type.Integer(),
                state: Type.Union([
                  Type.Literal('filling'),
                  Type.Literal('full'),
                  Type.Literal('drained'),
                  Type.Literal('damaged'),
                ]),
                fill: Type.Number({ description: '0 to 1' }),
                drained: Type.Number({ description: '0 to 1' }),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ),
    waits: Type.Array(WaitFigure),
  },
  closed,
);
export type InstanceFigures = Static<typeof InstanceFigures>;

export const ClusterInstance = Type.Object(
  {
    instance: Type.Integer(),
    state: Type.Union([Type.Literal('up'), Type.Literal('hosted'), Type.Literal('down')], {
      description:
        'up: in its own process; hosted: by another one, as its guest; down: by none at the moment',
    }),
    leaving: Type.Boolean({ description: 'Removed, and served until it is empty' }),
    process: nullable(
      Type.Object(
        {
          pid: Type.Integer(),
          state: Type.Union([
            Type.Literal('starting'),
            Type.Literal('running'),
            Type.Literal('paused'),
            Type.Literal('ending'),
          ]),
        },
        { ...closed, description: 'Its own process' },
      ),
    ),
    host: nullable(
      Type.Object(
        { pid: Type.Integer(), instance: nullable(Type.Integer()) },
        { ...closed, description: 'The process that hosts it, and which instance that one is for' },
      ),
    ),
    epoch: Type.Integer({ description: 'Raised at every opening of the instance; 0 while it is opened' }),
    lease: nullable(Type.Object({ claim: Type.Integer(), expiresInMs: Type.Number() }, closed)),
    figures: nullable(InstanceFigures),
  },
  closed,
);
export type ClusterInstance = Static<typeof ClusterInstance>;

export const ClusterProcess = Type.Object(
  {
    instance: Type.Integer({ description: 'The instance that it is for; it may host others beside it' }),
    pid: Type.Integer(),
    cpuMs: Type.Number({ description: 'CPU time of the whole process since it started' }),
    rssBytes: Type.Integer(),
  },
  closed,
);
export type ClusterProcess = Static<typeof ClusterProcess>;

const ClusterEventType = Type.Union([
  Type.Literal('lease:taken'),
  Type.Literal('instance:taken-over'),
  Type.Literal('instance:given-back'),
  Type.Literal('instance:released'),
  Type.Literal('instance:fenced'),
  Type.Literal('instance:failed'),
  Type.Literal('takeover:blocked'),
  Type.Literal('instance:added'),
  Type.Literal('instance:removed'),
  Type.Literal('instance:forgotten'),
  Type.Literal('process:started'),
  Type.Literal('process:ended'),
  Type.Literal('process:paused'),
  Type.Literal('process:resumed'),
]);

export const ClusterEvent = Type.Object(
  {
    type: ClusterEventType,
    atMs: Type.Integer(),
    instance: Type.Integer(),
    pid: Type.Integer(),
    role: Type.Optional(Type.Union([Type.Literal('home'), Type.Literal('guest')])),
    claim: Type.Optional(Type.Integer()),
    epoch: Type.Optional(Type.Integer()),
    fromPid: Type.Optional(Type.Integer()),
    toPid: Type.Optional(Type.Integer()),
    killed: Type.Optional(Type.Boolean()),
    tookMs: Type.Optional(Type.Number()),
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
    exitCode: Type.Optional(Type.Integer()),
    signal: Type.Optional(Type.String()),
  },
  closed,
);
export type ClusterEvent = Static<typeof ClusterEvent>;

export const Cluster = Type.Object(
  {
    placement: Type.Union([Type.Literal('inline'), Type.Literal('processes')], {
      description: 'inline: the one instance lives in the server itself; processes: each in one of its own',
    }),
    instances: Type.Array(ClusterInstance),
    processes: Type.Array(ClusterProcess),
    events: Type.Array(ClusterEvent, { description: 'The newest 200, oldest first' }),
  },
  closed,
);
export type Cluster = Static<typeof Cluster>;

export const Topology = Type.Object(
  { instances: Type.Integer({ minimum: 1, maximum: clusterLimits.instancesMax }) },
  closed,
);
export type Topology = Static<typeof Topology>;

export const Kill = Type.Object(
  {
    signal: Type.Optional(
      Type.Union([Type.Literal('SIGKILL'), Type.Literal('SIGSTOP'), Type.Literal('SIGCONT')], {
        description:
          'SIGKILL, the default; SIGSTOP stops the process as it is, until a survivor ends it or SIGCONT wakes it',
      }),
    ),
  },
  closed,
);
export type Kill = Static<typeof Kill>;

const { placement, instances, processes } = Cluster.properties;
const streamed = {
  atMs: Type.Integer(),
  figuresAtMs: Type.Integer({
    description: 'When the figures were taken; a process that hangs makes them old',
  }),
};

/** What those who watch the cluster are told: all of it at first, then every moment what it is and what is new. */
export const ClusterStreamEvent = Type.Union([
  Type.Object(
    { type: Type.Literal('snapshot'), ...streamed, cluster: Cluster, load: nullable(ClusterLoad) },
    closed,
  ),
  Type.Object(
    {
      type: Type.Literal('tick'),
      ...streamed,
      placement,
      instances,
      processes,
      events: Type.Array(ClusterEvent, { description: 'Since the one before' }),
      load: nullable(ClusterLoad),
    },
    closed,
  ),
]);
export type ClusterStreamEvent = Static<typeof ClusterStreamEvent>;
