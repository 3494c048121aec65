/**
 * The settings of a queue, each declared once: its values, its default, what it needs of other settings, and its description.
 * `QueueSpec`, `QueueInfo`, the catalog's columns, the checks of a new queue and the HTTP schemas are derived from this table. All
 * settings are fixed when the queue is created. An entry of the package of its own, so that `@shardlab/contract` has the same table.
 */
import { limits } from './limits.ts';

/**
 * `unsharded` and `unsharded-grouped` are stored in the same way, in one table that all instances share. With `unsharded`
 * each session commits for itself; with `unsharded-grouped` an elected process writes for all sessions, many at a time.
 */
export type QueueKind = 'sharded' | 'unsharded' | 'unsharded-grouped';

/** What survives a killed process or a power cut once a commit is acknowledged: see `docs/data-layout.md`. */
export type Durability = 'durable' | 'relaxed' | 'memory';

/**
 * `commit`: an enqueue is visible, and a dequeue consumes, with the session's commit. `immediate`: each call takes effect
 * when it returns, outside the session's transaction, by `enqueueNow` and `dequeueNow`.
 */
export type Visibility = 'commit' | 'immediate';

/** `queue`: each message has one consumer. `topic`: each subscriber gets every message. */
export type QueueType = 'queue' | 'topic';

/**
 * When a delivery is counted towards `attemptsMax`. `on-return`: by the commit that returns the message, so deliveries wait for
 * nothing. `on-delivery`: before the message is handed over, which waits for that commit; this also counts consumers whose
 * process the message kills.
 */
export type AttemptsCounted = 'on-return' | 'on-delivery';

export interface QueueSetting<Value> {
  readonly default: Value;
  isValid(value: unknown): value is Value;
  /** Completes the sentence "<name> is …". */
  readonly range: string;
  /** Of a whole number that can be asked for. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /** For users of the HTTP API. Settings with few values have a description for each of them there. */
  readonly about?: string;
  /** Completes "Null: …". */
  readonly nullMeans?: string;
  /** All of them must be met if the setting is in use. */
  readonly needs: readonly SettingNeed[];
  /** Whether a value needs them: by default every value but false, 0 and null. */
  isInUse(value: Value): boolean;
  /** The only value that needs them, where the values are names. */
  readonly valueInUse?: string;
  /** Its column in the catalog; a boolean is stored as 0 or 1. */
  readonly column: QueueColumn;
}

/** What a setting needs of others. */
export interface SettingNeed {
  isMet(queue: NeededSettings): boolean;
  /** Completes the sentence "<setting> needs …". */
  readonly needed: string;
  /** A sentence. */
  readonly because?: string;
}

interface NeededSettings {
  kind: QueueKind;
  type: QueueType;
  durability: Durability;
  visibility: Visibility;
  retentionMs: number;
  attemptsMax: number | null;
}

export interface QueueColumn {
  type: 'TEXT' | 'INTEGER';
  nullable: boolean;
  boolean: boolean;
  /** The only values that the column accepts, where they are few. */
  values?: readonly string[];
}

type Needs = { needs?: readonly SettingNeed[] };

const isSharded = ({ kind }: NeededSettings) => kind === 'sharded';
const isPersistent = ({ durability }: NeededSettings) => durability !== 'memory';

const sharded: SettingNeed = { needed: 'a sharded queue', isMet: isSharded };
const persistent: SettingNeed = { needed: 'a persistent queue', isMet: isPersistent };
const persistentSharded: SettingNeed = {
  needed: 'a persistent sharded queue',
  isMet: (queue) => isSharded(queue) && isPersistent(queue),
};
const shardedOrTopic: SettingNeed = {
  needed: 'a sharded queue, or a topic',
  isMet: (queue) => isSharded(queue) || queue.type === 'topic',
};
const visibleOnCommit: SettingNeed = {
  needed: 'visibility on commit',
  isMet: ({ visibility }) => visibility === 'commit',
  because: 'What is consumed at once does not come back',
};

export const queueSettings = {
  /** Default `sharded`. */
  kind: oneOf<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped']),
  /** Default `queue`. A topic stores a message once, whatever its kind and the number of its subscribers. */
  type: oneOf<QueueType>(['queue', 'topic']),
  /** Number of shards on each instance, 1 to 16, default 1. Ignored for an unsharded queue, which has 0. */
  shards: wholeNumber({
    min: 1,
    max: limits.shardsMax,
    default: 1,
    acceptsZero: true,
    about: 'Shards per instance',
  }),
  /** Default `durable`. */
  durability: oneOf<Durability>(['durable', 'relaxed', 'memory'], {
    valueInUse: 'memory',
    needs: [{ ...sharded, because: 'An unsharded queue is stored in a file' }],
  }),
  /**
   * Default `commit`. `immediate` makes a _buffered queue_: `durability` is then `memory`, and no message of it is ever
   * written to a file.
   */
  visibility: oneOf<Visibility>(['commit', 'immediate'], {
    valueInUse: 'immediate',
    needs: [
      {
        needed: 'a sharded queue whose durability is memory',
        isMet: (queue) => isSharded(queue) && !isPersistent(queue),
        because: 'What is written needs a commit',
      },
    ],
  }),
  /**
   * Flow control: past this many undelivered messages (enqueued and not yet consumed, held ones included) on an instance, the
   * queue refuses an enqueue with `ENQUEUE_RATE_TOO_HIGH`. 1 to 10,000,000, default 5,000; null without flow control.
   */
  messagesMax: orNull('without flow control', {
    min: 1,
    max: limits.undeliveredMax,
    about:
      'Flow control of a buffered queue: past this many undelivered messages on an instance an enqueue is refused with ENQUEUE_RATE_TOO_HIGH; default 5,000',
    needs: [
      {
        needed: 'immediate visibility',
        isMet: ({ visibility }) => visibility === 'immediate',
        because: 'Staged messages do not count before their commit, which must not fail for it',
      },
    ],
  }),
  /** Default false. True: messages have priorities; more urgent ones are delivered first within a shard. */
  priorities: flag({
    default: false,
    about: 'Whether more urgent messages are delivered first',
    needs: [shardedOrTopic],
  }),
  /**
   * Deliveries of a message before it moves to the exception queue, 1 to 1,000, or null without a limit; default 5, which is
   * Oracle's max_retries, and null for a buffered queue. The exception queue is named `<name>.exceptions`. It is created with the
   * queue if a limit is given, else when the first message moves there.
   */
  attemptsMax: orNull('no limit', {
    min: 1,
    max: limits.attemptsMax,
    default: limits.attemptsDefault,
    about: `Deliveries of a message before it moves to the exception queue; default ${limits.attemptsDefault}, none for a buffered queue`,
    needs: [visibleOnCommit],
  }),
  /** Default `on-return`. */
  attemptsCounted: oneOf<AttemptsCounted>(['on-return', 'on-delivery'], {
    valueInUse: 'on-delivery',
    needs: [
      { ...persistent, because: 'Attempts are stored' },
      {
        needed: 'attemptsMax',
        isMet: ({ attemptsMax }) => attemptsMax !== null,
        because: 'Without a limit nothing is to be counted',
      },
    ],
  }),
  /**
   * Delay before a returned message is delivered again, doubled each time; default 0, at most an hour. A message that is returned
   * with the error of its consumer waits in any case: see `ReturnOptions`.
   */
  retryDelayMs: wholeNumber({
    min: 0,
    max: limits.retryDelayMsMax,
    about: 'Pause before a returned message is delivered again; doubles with each delivery',
  }),
  /**
   * How long consumed messages are kept at least, for `browse` with `processed`; default 0, at most two weeks. They keep their
   * partitions from being truncated, so they need room on the disk and in the pool of partitions (`BACKLOG_FULL`). The time begins
   * when all of a partition is consumed, and starts again when the instance is opened. Persistent sharded queues without
   * forwarding only.
   */
  retentionMs: wholeNumber({
    min: 0,
    max: limits.retentionMsMax,
    about: 'How long consumed messages are kept at least, for browsing with processed=true; default 0',
    needs: [{ ...persistentSharded, because: 'Its partitions keep what was consumed' }],
  }),
  /**
   * Default true for a persistent sharded queue without retention; others cannot. Messages move from an instance without a local
   * consumer to instances where consumers wait. Without it, or while no other instance is served, a dequeue on an instance
   * whose own shards are empty returns no messages (Oracle reports ORA-25228).
   */
  forwarding: flag({
    default: true,
    about:
      'Whether messages without a consumer on their instance are forwarded to instances where consumers wait. By default on for persistent sharded queues, off for topics, queues with retentionMs and all others',
    needs: [
      {
        needed: 'a persistent sharded queue that is no topic and keeps no consumed messages',
        isMet: (queue) => persistentSharded.isMet(queue) && queue.type === 'queue' && queue.retentionMs === 0,
      },
    ],
  }),
  /**
   * Bytes of each instance's message cache reserved for this queue; default 0. The reservations of all queues together
   * must fit the cache.
   */
  cacheBytesMin: wholeNumber({
    min: 0,
    max: limits.cacheBytesMax,
    about: "Bytes of each instance's message cache that are reserved for this queue; default 0",
    needs: [{ ...sharded, because: 'Only messages of sharded queues are cached' }],
  }),
  /**
   * Bytes of the message cache that the queue may fill; default: all that is free, which is null. Past it, a nonpersistent queue
   * refuses messages (`BACKLOG_FULL`), and a persistent one reads them back from their partitions later.
   */
  cacheBytesMax: orNull('whatever is free', {
    min: 1,
    max: limits.cacheBytesMax,
    about: 'Bytes of the message cache that this queue may use; by default whatever is free',
    needs: [{ ...sharded, because: 'Only messages of sharded queues are cached' }],
  }),
  /**
   * Default false. True: the partitions of the queue and of its exception queue have a local index on correlation ids, so
   * that a `browse` for one reads four bytes a message instead of the messages. Persistent sharded queues only.
   */
  correlationIndex: flag({
    default: false,
    about: 'Whether each partition has a local index on correlation ids, which makes browsing by one fast',
    needs: [{ ...persistentSharded, because: 'Only that has partitions' }],
  }),
  /**
   * Default false. True: recipients of a message that do not subscribe become temporary subscribers instead of being refused
   * (`SUBSCRIBER_NOT_FOUND`). A temporary subscriber gets only messages that name it. It is removed when its last message is
   * consumed, or by `unsubscribe`, and not when instances close. The limit of subscribers does not count temporary ones; each has
   * at least one message. Unsharded topics only.
   */
  temporarySubscribers: flag({
    default: false,
    about:
      'Whether recipients that do not subscribe become temporary subscribers, each until its last message is consumed',
    needs: [
      {
        needed: 'an unsharded topic',
        isMet: (queue) => !isSharded(queue) && queue.type === 'topic',
      },
    ],
  }),
};

type Declared = typeof queueSettings;
export type QueueSettingName = keyof Declared;
type ValueOf<Setting> = Setting extends QueueSetting<infer Value> ? Value : never;
/** Of a queue that exists: all of them. */
export type QueueSettings = { [Name in keyof Declared]: ValueOf<Declared[Name]> };
/** Of a new queue: those that differ from their defaults. Null can be given where that is not the default. */
export type GivenQueueSettings = {
  [Name in Exclude<keyof Declared, 'attemptsMax'>]?: NonNullable<ValueOf<Declared[Name]>>;
} & { attemptsMax?: number | null };

export const queueSettingNames = Object.keys(queueSettings) as QueueSettingName[];

export const defaultQueueSettings = Object.fromEntries(
  queueSettingNames.map((name) => [name, queueSettings[name].default]),
) as unknown as QueueSettings;

/** The settings of a row or spec that has more properties. */
export function pickQueueSettings(row: QueueSettings): QueueSettings {
  return Object.fromEntries(queueSettingNames.map((name) => [name, row[name]])) as unknown as QueueSettings;
}

/** Says what a setting needs, without a full stop at its end. */
export function describeNeed(name: QueueSettingName, { needed }: SettingNeed): string {
  const { valueInUse }: QueueSetting<unknown> = queueSettings[name];
  return `${name}${valueInUse === undefined ? '' : ` ${valueInUse}`} needs ${needed}`;
}

function oneOf<Value extends string>(
  values: readonly [Value, ...Value[]],
  { valueInUse, needs = [] }: Needs & { valueInUse?: Value } = {},
): QueueSetting<Value> {
  return {
    default: values[0],
    isValid: (value): value is Value => values.includes(value as Value),
    range: `one of ${values.join(', ')}`,
    needs,
    isInUse: (value) => value === valueInUse,
    ...(valueInUse === undefined ? {} : { valueInUse }),
    column: { type: 'TEXT', nullable: false, boolean: false, values },
  };
}

function flag({
  needs = [],
  ...described
}: Needs & { default: boolean; about: string }): QueueSetting<boolean> {
  return {
    ...described,
    isValid: (value) => typeof value === 'boolean',
    range: 'true or false',
    needs,
    isInUse: (value) => value,
    column: { type: 'INTEGER', nullable: false, boolean: true },
  };
}

interface WholeNumber extends Needs {
  min: number;
  max: number;
  default?: number;
  /** A queue may have 0 although nobody can ask for it. */
  acceptsZero?: boolean;
  about: string;
}

function wholeNumber({
  min,
  max,
  acceptsZero = false,
  default: byDefault = min,
  about,
  needs = [],
}: WholeNumber): QueueSetting<number> {
  return {
    default: byDefault,
    isValid: (value): value is number =>
      Number.isInteger(value) &&
      ((Number(value) >= min && Number(value) <= max) || (acceptsZero && value === 0)),
    range: `a whole number from ${min} to ${max}`,
    bounds: { min, max },
    about,
    needs,
    isInUse: (value) => value > 0,
    column: { type: 'INTEGER', nullable: false, boolean: false },
  };
}

/** A whole number, or null, which is the default unless another is given. */
function orNull(nullMeans: string, number: WholeNumber): QueueSetting<number | null> {
  const { isValid, column, ...setting } = wholeNumber(number);
  return {
    ...setting,
    default: number.default ?? null,
    isValid: (value): value is number | null => value === null || isValid(value),
    nullMeans,
    isInUse: (value) => value !== null,
    column: { ...column, nullable: true },
  };
}
