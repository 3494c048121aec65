/** The cluster behind the queue API: its instances, the processes that host them, and their events. */
import Type, { type Static } from 'typebox';
import { ClusterLoad } from './load.ts';
import { WaitClass, WaitSummary } from './point.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const clusterLimits = { instancesMax: 64 } as const;

export const DamageFinding = Type.Object(
  {
    message: Type.String({ description: 'What is damaged, as far as it is known' }),
    foundAtMs: Type.Number({ description: 'When a scrub found it first' }),
  },
  closed,
);
export type DamageFinding = Static<typeof DamageFinding>;

/** Metrics of an instance since its present host opened it. */
export const InstanceMetrics = Type.Object(
  {
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    commits: Type.Integer(),
    groups: Type.Integer({
      description: 'Group commits; commits ÷ groups is the mean size of a group',
    }),
    syncs: Type.Integer({ description: 'Group commits that were synced' }),
    logBytes: Type.Integer({
      description: 'Bytes of its write-ahead logs; beyond about 64 MB a reader keeps them from being reused',
    }),
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
    waits: Type.Array(WaitSummary),
    counters: Type.Record(Type.String(), Type.Number(), {
      description: 'Values of the counters of its modules; /api/waits says what each counts',
    }),
    scrub: Type.Object(
      {
        completed: Type.Integer({ description: 'Scrubs since the instance opened' }),
        lastCompletedAtMs: nullable(Type.Number()),
        findings: Type.Array(DamageFinding, { description: 'What the last one found' }),
      },
      { ...closed, description: 'Scrubs read all stored data in the background and verify it' },
    ),
  },
  closed,
);
export type InstanceMetrics = Static<typeof InstanceMetrics>;

/** The wait events and counters that this server's modules register: names in metrics and runs, with their meaning. */
export const WaitRegistry = Type.Object(
  {
    events: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          class: WaitClass,
          about: Type.String(),
          standsFor: Type.Union([Type.String(), Type.Null()], {
            description: "Oracle's event, or group of events, that it corresponds to; null if there is none",
          }),
          emulated: Type.Boolean({ description: 'Injected, and never a wait for something real' }),
          hasHolder: Type.Boolean({
            description: 'Whether the resource that sessions wait for has a holder, which a trial can sample',
          }),
        },
        closed,
      ),
    ),
    counters: Type.Array(
      Type.Object({ name: Type.String(), unit: Type.String(), about: Type.String() }, closed),
    ),
  },
  closed,
);
export type WaitRegistry = Static<typeof WaitRegistry>;

export const ClusterInstance = Type.Object(
  {
    instance: Type.Integer(),
    state: Type.Union([Type.Literal('up'), Type.Literal('failed-over'), Type.Literal('down')], {
      description: 'up: served by its own process; failed-over: served by another process; down: not served',
    }),
    leaving: Type.Boolean({ description: 'Being removed from the cluster; it is served until it is empty' }),
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
    restart: nullable(
      Type.Object(
        {
          attempts: Type.Integer({
            description: 'Processes in a row that could not open the instance, or served for a moment only',
          }),
          inMs: nullable(
            Type.Number({ description: '0 while a process starts; null once the server has given up' }),
          ),
          code: Type.String(),
          message: Type.String({ description: 'Why the last process ended' }),
        },
        {
          ...closed,
          description: 'Set from an unrequested exit of its process until the next one serves',
        },
      ),
    ),
    host: nullable(
      Type.Object(
        {
          pid: Type.Integer(),
          instance: nullable(Type.Integer()),
          unresponsiveMs: nullable(
            Type.Number({
              description:
                'For how long its event loop has made no turn, if that is a second or more: it is slow, and not ready. Null while it is responsive',
            }),
          ),
        },
        { ...closed, description: 'The process that serves it, and the instance which that process owns' },
      ),
    ),
    epoch: Type.Integer({
      description: 'Raised each time the instance is opened; 0 while it is being opened',
    }),
    lease: nullable(
      Type.Object(
        {
          claim: Type.Integer(),
          expiresInMs: Type.Number({
            description: 'Until its process counts as silent, unless that gives another sign of life',
          }),
        },
        closed,
      ),
    ),
    unready: nullable(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { ...closed, description: 'Why it was not ready at the last check of its health, for 10 s after it' },
      ),
    ),
    metrics: nullable(InstanceMetrics),
  },
  closed,
);
export type ClusterInstance = Static<typeof ClusterInstance>;

export const ClusterProcess = Type.Object(
  {
    instance: Type.Integer({ description: 'The instance it owns; it may host others too' }),
    pid: Type.Integer(),
    cpuMs: Type.Number({ description: 'CPU time of the whole process since it started' }),
    rssBytes: Type.Integer(),
  },
  closed,
);
export type ClusterProcess = Static<typeof ClusterProcess>;

const ClusterEventType = Type.Union([
  Type.Literal('lease:acquired'),
  Type.Literal('instance:taken-over'),
  Type.Literal('instance:moved'),
  Type.Literal('instance:returned'),
  Type.Literal('instance:released'),
  Type.Literal('instance:fenced'),
  Type.Literal('instance:failed'),
  Type.Literal('instance:unhealthy'),
  Type.Literal('instance:damaged'),
  Type.Literal('messages:lost'),
  Type.Literal('takeover:blocked'),
  Type.Literal('instance:added'),
  Type.Literal('instance:removed'),
  Type.Literal('instance:deregistered'),
  Type.Literal('process:started'),
  Type.Literal('process:ended'),
  Type.Literal('process:restarting'),
  Type.Literal('process:given-up'),
  Type.Literal('process:slow'),
  Type.Literal('process:responsive'),
  Type.Literal('process:hung'),
  Type.Literal('process:paused'),
  Type.Literal('process:resumed'),
]);

export const ClusterEvent = Type.Object(
  {
    type: ClusterEventType,
    atMs: Type.Integer(),
    instance: Type.Integer(),
    pid: Type.Integer(),
    role: Type.Optional(Type.Union([Type.Literal('owner'), Type.Literal('failover')])),
    claim: Type.Optional(Type.Integer()),
    epoch: Type.Optional(Type.Integer()),
    fromPid: Type.Optional(Type.Integer()),
    toPid: Type.Optional(Type.Integer()),
    killed: Type.Optional(Type.Boolean()),
    tookMs: Type.Optional(Type.Number()),
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
    attempts: Type.Optional(Type.Integer()),
    inMs: Type.Optional(Type.Number()),
    exitCode: Type.Optional(Type.Integer()),
    signal: Type.Optional(Type.String()),
  },
  closed,
);
export type ClusterEvent = Static<typeof ClusterEvent>;

export const Cluster = Type.Object(
  {
    placement: Type.Union([Type.Literal('local'), Type.Literal('processes'), Type.Literal('store')], {
      description:
        'local: the only instance runs inside the server; processes: each instance has a process of its own; store: the queues are on other servers, and there are no instances',
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
          'SIGKILL is the default: the process stays down until it is started, or until no other process is left. SIGSTOP suspends it until a survivor kills it or SIGCONT resumes it',
      }),
    ),
  },
  closed,
);
export type Kill = Static<typeof Kill>;

const { placement, instances, processes } = Cluster.properties;
const streamed = {
  atMs: Type.Integer(),
  metricsAtMs: Type.Integer({
    description: 'When the metrics were taken; they are out of date while a process hangs',
  }),
};

/** The event stream of the cluster: one snapshot, then a tick with the present state and the new events. */
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
      events: Type.Array(ClusterEvent, { description: 'Events since the previous tick' }),
      load: nullable(ClusterLoad),
    },
    closed,
  ),
]);
export type ClusterStreamEvent = Static<typeof ClusterStreamEvent>;
