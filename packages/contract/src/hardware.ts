/**
 * A hardware file (`scenarios/hardware/`): the cost of each kind of work on a machine, for the model, with the source of
 * every number. The types equal the model's `HardwareFile`; a test of the lab compares the two.
 */
import Type, { type Static } from 'typebox';
import { patterns } from './patterns.ts';

const closed = { additionalProperties: false } as const;
const note = Type.Optional(Type.String({ maxLength: 400 }));

const Known = Type.Union(
  [Type.Literal('stated'), Type.Literal('measured'), Type.Literal('built'), Type.Literal('chosen')],
  {
    description:
      'stated: by a document; measured: by a calibration; built: a fact of the design, a count or a switch; chosen: assumed, or left out, without evidence',
  },
);

/** A known number, or a multiple of a free parameter. */
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
  { ...closed, description: 'threads is the number of enqueuers, and of dequeuers per subscriber' },
);

const Costs = Type.Object(
  {
    machine: Type.Object(
      {
        nodes: quantity('Nodes of the cluster'),
        coresPerNode: quantity('Cores per node'),
        busyCoreSpeed: quantity(
          'Speed of a core while all cores of its node are busy, relative to one that is busy alone',
        ),
        sliceUs: quantity(
          'Time slice: how long a thread with work keeps its core while others wait; 0: for one burst',
        ),
        backgroundCpu: quantity('CPU time of background threads of an instance per µs of its own work'),
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
        oneThread: choice(Type.Boolean(), 'Whether all sessions of an instance share one thread'),
        roundTripUs: quantity("A client's round trip before each call; 0 if embedded"),
        timerLateUs: quantity(
          'What a round trip takes beyond its duration where a timer emulates it; 0 for real ones',
        ),
        clientEnqueueUs: quantity("The client's own CPU time on the instance per enqueued message"),
        clientDequeueUs: quantity('The same per dequeued message'),
        clientTransactionUs: quantity('The same per transaction'),
      },
      closed,
    ),
    interconnectUs: quantity('Latency from one instance to another'),
    redo: Type.Object(
      {
        groupsInFlight: quantity('Groups that the writer can have at one time'),
        groupBytesMax: quantity('A group closes when it exceeds this'),
        syncUs: quantity('Time of a sync that uses no core and can overlap with others'),
        syncCpuUs: quantity('CPU time of a sync'),
        usPerKib: quantity("Time that writing 1 KiB occupies the node's device"),
        threadHopUs: quantity('Latency from one thread of an instance to the other'),
      },
      closed,
    ),
    sharded: Type.Object(
      {
        callUs: quantity('One call'),
        enqueueUs: quantity('Enqueuing one message'),
        dequeueUs: quantity('Dequeuing one message'),
        transactionUs: quantity('One transaction, without its group'),
        groupUs: quantity('One group commit, on the session thread'),
        writeGroupUs: quantity('One group commit, on the writer thread'),
        writeEnqueueUs: quantity('One enqueued message, on the writer thread'),
        writeConsumptionUs: quantity(
          'What one subscriber, or a queue, consumed in a group, on the writer thread',
        ),
        forwardUs: quantity('One forwarded message, on the instance that forwards it'),
        forwardBatchMax: quantity('Messages per forwarded batch'),
      },
      closed,
    ),
    maintenance: Type.Object(
      {
        scope: choice(
          Type.Union([Type.Literal('instance'), Type.Literal('cluster')]),
          'Whether each instance maintains its partitions, or one resource of the cluster maintains all',
        ),
        counts: choice(
          Type.Union([Type.Literal('messages'), Type.Literal('operations')]),
          'What fills a partition: messages, or each enqueue and each dequeue',
        ),
        operationsPerPartition: quantity('Number that fills a partition'),
        partitionUs: quantity('Creating, assigning and truncating a partition'),
      },
      closed,
    ),
    unsharded: Type.Object(
      {
        callUs: quantity('One call, outside the blocks of the index'),
        enqueueUs: quantity('Enqueuing one message, outside the blocks'),
        dequeueUs: quantity('Dequeuing one message, outside the blocks'),
        transactionUs: quantity('One transaction, outside the blocks'),
        skipUs: quantity('Skipping one message that another session holds'),
        blocks: quantity('Contended blocks of the index: 1, or 2 (one at each end)'),
        enter: Type.Object(
          {
            at: choice(
              Type.Union([Type.Literal('call'), Type.Literal('commit')]),
              'When an enqueue changes the index',
            ),
            visitUs: quantity('Each visit of an enqueuer to the block'),
            entryUs: quantity('Each message and subscriber in that visit'),
          },
          closed,
        ),
        claim: Type.Object(
          {
            visitUs: quantity('Each visit of a dequeue to the block'),
            messageUs: quantity('Each message in that visit'),
          },
          closed,
        ),
        leave: Type.Union(
          [
            Type.Object(
              {
                visitUs: quantity("Each visit of a dequeuer's commit"),
                messageUs: quantity('Each message in that visit'),
              },
              closed,
            ),
            Type.Null(),
          ],
          {
            description:
              "What a dequeuer's commit changes in the index; null if its calls changed everything",
          },
        ),
        syncInBlock: choice(Type.Boolean(), 'Whether a commit syncs on its own while it holds the block'),
        syncUs: quantity('Duration of that sync; 0 if commits join a group'),
        transferUs: quantity('Transfer of a block between instances'),
        visitsPerTurn: quantity('Visits before the block goes to another waiting instance'),
        order: choice(
          Type.Union([Type.Literal('arrival'), Type.Literal('alternating')]),
          'How the sessions of an instance visit a block: as they come, or all waiting deliveries and all waiting commits in turns',
        ),
        transferBy: choice(
          Type.Union([Type.Literal('network'), Type.Literal('process')]),
          'What a transfer takes: time on the network, or CPU of the processes that handle its messages',
        ),
        lookUs: quantity('Longest time until a waiting dequeuer of another instance sees a message'),
      },
      closed,
    ),
  },
  { ...closed, description: 'Times in microseconds; CPU times are those of a core that is busy alone' },
);

export const Hardware = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    version: Type.Literal(1),
    id: Type.String({ pattern: patterns.words.pattern, description: 'Lower-case words and dashes' }),
    title: Type.String({ minLength: 1, maxLength: 120 }),
    about: Type.String({ minLength: 1, maxLength: 1_000 }),
    calibratedAtMs: Type.Optional(
      Type.Integer({ minimum: 0, description: 'When a calibration measured the costs, epoch milliseconds' }),
    ),
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
      { maxProperties: 3, description: 'Free parameters, at most three, fitted to the observations' },
    ),
    observations: Type.Array(
      Type.Object(
        {
          claim: Type.String({ pattern: patterns.claim.pattern }),
          says: Type.String({ minLength: 1, maxLength: 400 }),
          dequeuePerSec: Type.Number({ exclusiveMinimum: 0, description: 'The maximum over the sweep' }),
          sweep: Sweep,
        },
        closed,
      ),
      { maxItems: 8, description: 'The only figures to which the free parameters are fitted' },
    ),
    costs: Costs,
  },
  { ...closed, title: 'Shardlab hardware' },
);
export type Hardware = Static<typeof Hardware>;

/** The machines that the model can simulate, by id. */
export const HardwareList = Type.Object({ hardware: Type.Array(Hardware) }, closed);
export type HardwareList = Static<typeof HardwareList>;
