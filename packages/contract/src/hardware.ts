/**
 * A hardware file (`scenarios/hardware/`): what work costs on a machine, as the model simulates it, with the source of
 * every number. The types are those of the model's `HardwareFile`; the lab's tests hold the two equal.
 */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;
const note = Type.Optional(Type.String({ maxLength: 400 }));

const Known = Type.Union([Type.Literal('stated'), Type.Literal('measured'), Type.Literal('built')], {
  description:
    'stated: by a document; measured: by a calibration; built: how the system is made, a count or a switch',
});

/** A number that is known, or so many times a free parameter. */
const quantity = (description: string) =>
  Type.Union(
    [
      Type.Object({ source: Known, value: Type.Number({ minimum: 0 }), note }, closed),
      Type.Object(
        {
          source: Type.Literal('fitted'),
          parameter: Type.String(),
          times: Type.Number({ exclusiveMinimum: 0 }),
          note,
        },
        closed,
      ),
    ],
    { description },
  );

const choice = <T extends Type.TSchema>(value: T, description: string) =>
  Type.Object({ source: Known, value, note }, { ...closed, description });

const Count = Type.Integer({ minimum: 1, maximum: 4_096 });
const Sweep = Type.Object(
  {
    kind: Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')]),
    instances: Type.Array(Count, { minItems: 1 }),
    threads: Type.Array(Count, { minItems: 1 }),
    subscribers: Type.Integer({ minimum: 1, maximum: 1_024 }),
    operationsPerTransaction: Type.Integer({ minimum: 1, maximum: 10_000 }),
    payloadBytes: Type.Integer({ minimum: 0 }),
  },
  { ...closed, description: 'Enqueuers by threads, and as many dequeuers for each subscriber' },
);

const Costs = Type.Object(
  {
    machine: Type.Object(
      {
        nodes: quantity('Nodes of the cluster'),
        coresPerNode: quantity('Cores of a node'),
        busyCoreSpeed: quantity('Speed of a core while all of its node are busy, against one busy alone'),
        backgroundCpu: quantity('CPU of other threads of an instance for each µs of its own work'),
      },
      closed,
    ),
    variation: Type.Object(
      {
        cpu: quantity('Coefficient of variation of CPU times, 0 to 1'),
        redo: quantity('Coefficient of variation of a sync, 0 to 1'),
        network: quantity('Coefficient of variation of a round trip, 0 to 1'),
      },
      closed,
    ),
    sessions: Type.Object(
      {
        oneThread: choice(Type.Boolean(), 'Whether the sessions of an instance take turns on one thread'),
        roundTripUs: quantity("A client's round trip before each call; 0: embedded"),
        clientEnqueueUs: quantity("The client's own CPU on the instance for a message that it enqueues"),
        clientDequeueUs: quantity('The same for a message that it dequeues'),
        clientTransactionUs: quantity('The same for a transaction'),
      },
      closed,
    ),
    interconnectUs: quantity('From one instance to another'),
    redo: Type.Object(
      {
        groupsInFlight: quantity('Groups with the writer at one time'),
        groupBytesMax: quantity('A group closes past this'),
        syncUs: quantity('Time of a sync that needs no core and that others may overlap'),
        syncCpuUs: quantity('CPU of a sync'),
        usPerKib: quantity("Time that a KiB occupies the node's device"),
        threadHopUs: quantity('From one thread of an instance to the other'),
      },
      closed,
    ),
    sharded: Type.Object(
      {
        callUs: quantity('A call'),
        enqueueUs: quantity('A message in'),
        dequeueUs: quantity('A message out'),
        transactionUs: quantity('A transaction, beside its group'),
        groupUs: quantity("A group commit, on the sessions' side"),
        writeGroupUs: quantity("A group commit, on the writer's side"),
        writeEnqueueUs: quantity("A message in, on the writer's side"),
        writeConsumptionUs: quantity("A transaction that consumed, on the writer's side"),
        forwardUs: quantity('A forwarded message, at its owner'),
        forwardBatchMax: quantity('Messages forwarded at once'),
      },
      closed,
    ),
    maintenance: Type.Object(
      {
        scope: choice(
          Type.Union([Type.Literal('instance'), Type.Literal('cluster')]),
          'Whether partitions are maintained by each instance, or by one resource of the cluster',
        ),
        counts: choice(
          Type.Union([Type.Literal('messages'), Type.Literal('operations')]),
          'What fills a partition: messages, or each enqueue and each dequeue',
        ),
        operationsPerPartition: quantity('So many fill a partition'),
        partitionUs: quantity('Creating, assigning and truncating a partition'),
      },
      closed,
    ),
    unsharded: Type.Object(
      {
        callUs: quantity('A call, outside the blocks of the index'),
        enqueueUs: quantity('A message in, outside the blocks'),
        dequeueUs: quantity('A message out, outside the blocks'),
        transactionUs: quantity('A transaction, outside the blocks'),
        skipUs: quantity('A message held by another session that a dequeue walks past'),
        blocks: quantity('Blocks that are changed in turn: 1, or 2 for one at each end'),
        enter: Type.Object(
          {
            at: choice(
              Type.Union([Type.Literal('call'), Type.Literal('commit')]),
              'When an enqueue changes the index',
            ),
            visitUs: quantity('Each visit of an enqueuer'),
            entryUs: quantity('Each message and subscriber of it'),
          },
          closed,
        ),
        claim: Type.Object(
          { visitUs: quantity("A dequeue's visit"), messageUs: quantity('Each message of it') },
          closed,
        ),
        leave: Type.Union(
          [
            Type.Object(
              { visitUs: quantity("A dequeuer's commit"), messageUs: quantity('Each message of it') },
              closed,
            ),
            Type.Null(),
          ],
          { description: "What a dequeuer's commit changes; null if its calls did all" },
        ),
        syncInBlock: choice(Type.Boolean(), 'Whether a commit syncs by itself while it has the block'),
        syncUs: quantity('Such a sync; 0 where commits join a group'),
        transferUs: quantity('A block from one instance to another'),
        visitsPerTurn: quantity('Visits before a block goes to another instance that waits'),
        lookUs: quantity('Until a waiting dequeuer of another instance sees a message, at most'),
      },
      closed,
    ),
  },
  { ...closed, description: 'Times are microseconds; CPU times those of a core that is busy alone' },
);

export const Hardware = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    version: Type.Literal(1),
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$', description: 'Lower-case words and dashes' }),
    title: Type.String({ minLength: 1, maxLength: 120 }),
    about: Type.String({ minLength: 1, maxLength: 1_000 }),
    parameters: Type.Record(
      Type.String(),
      Type.Object(
        {
          value: Type.Number({ exclusiveMinimum: 0 }),
          low: Type.Number({ exclusiveMinimum: 0 }),
          high: Type.Number({ exclusiveMinimum: 0 }),
          meaning: Type.String({ minLength: 1, maxLength: 400 }),
        },
        closed,
      ),
      { maxProperties: 3, description: 'Free parameters: at most three, fitted to the observations' },
    ),
    observations: Type.Array(
      Type.Object(
        {
          claim: Type.String({ pattern: '^[A-Z][0-9]{1,2}$' }),
          says: Type.String({ minLength: 1, maxLength: 400 }),
          dequeuePerSec: Type.Number({ exclusiveMinimum: 0, description: 'The best of the sweep' }),
          sweep: Sweep,
        },
        closed,
      ),
      { maxItems: 8, description: 'What the free parameters are fitted to, and nothing else' },
    ),
    costs: Costs,
  },
  { ...closed, title: 'Shardlab hardware' },
);
export type Hardware = Static<typeof Hardware>;

/** The machines that the model can simulate, by id. */
export const HardwareList = Type.Object({ hardware: Type.Array(Hardware) }, closed);
export type HardwareList = Static<typeof HardwareList>;
