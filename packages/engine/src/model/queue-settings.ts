/**
 * The settings of a queue, each declared once. Types, the catalog's columns, the checks of a new queue and its public
 * description are derived from this table. All settings are fixed when the queue is created.
 */
import { limits } from '../api/limits.ts';
import type { Durability, QueueKind, QueueSpec, QueueType, Visibility } from '../api/queue.ts';

export interface QueueSetting<Value> {
  readonly default: Value;
  isValid(value: unknown): value is Value;
  /** Completes the sentence "<name> is …". */
  readonly range: string;
  /** Its column in the catalog; a boolean is stored as 0 or 1. */
  readonly column: QueueColumn;
}

export interface QueueColumn {
  type: 'TEXT' | 'INTEGER';
  nullable: boolean;
  boolean: boolean;
  /** The only values that the column accepts, where they are few. */
  values?: readonly string[];
}

export const queueSettings = {
  kind: oneOf<QueueKind>('sharded', 'unsharded', 'unsharded-grouped'),
  type: oneOf<QueueType>('queue', 'topic'),
  /** Shards on each instance; 0 for an unsharded queue. */
  shards: wholeNumber({ min: 0, max: limits.shardsMax, default: 1 }),
  durability: oneOf<Durability>('durable', 'relaxed', 'memory'),
  /** Whether calls take effect with the commit or at once. */
  visibility: oneOf<Visibility>('commit', 'immediate'),
  /** Undelivered messages on an instance past which an enqueue is refused; null: no such bound. */
  messagesMax: orNull(wholeNumber({ min: 1, max: limits.undeliveredMax })),
  priorities: flag(false),
  /** Deliveries of a message before it moves to the exception queue; null: no limit. */
  attemptsMax: orNull(wholeNumber({ min: 1, max: limits.attemptsMax })),
  retryDelayMs: wholeNumber({ min: 0, max: limits.retryDelayMsMax, default: 0 }),
  /** Consumed messages are kept this long at least. */
  retentionMs: wholeNumber({ min: 0, max: limits.retentionMsMax, default: 0 }),
  /** Messages move to another instance if consumers wait there and none waits here. */
  forwarding: flag(true),
  /** Bytes of each instance's message cache that are reserved for the queue. */
  cacheBytesMin: wholeNumber({ min: 0, max: limits.cacheBytesMax, default: 0 }),
  /** Most bytes of the message cache that the queue may use; null: as many as are free. */
  cacheBytesMax: orNull(wholeNumber({ min: 1, max: limits.cacheBytesMax })),
  /** Its partitions have local indexes on correlation ids. */
  correlationIndex: flag(false),
  /** Recipients of a message that are no subscribers of the topic become temporary ones. */
  temporarySubscribers: flag(false),
} satisfies { [Name in Exclude<keyof QueueSpec, 'name'>]-?: QueueSetting<unknown> };

type Declared = typeof queueSettings;
export type QueueSettingName = keyof Declared;
export type QueueSettings = {
  [Name in QueueSettingName]: Declared[Name] extends QueueSetting<infer Value> ? Value : never;
};

export const queueSettingNames = Object.keys(queueSettings) as QueueSettingName[];

/** The settings of a row or spec that has more properties. */
export function pickQueueSettings(row: QueueSettings): QueueSettings {
  return Object.fromEntries(queueSettingNames.map((name) => [name, row[name]])) as unknown as QueueSettings;
}

function oneOf<Value extends string>(...values: [Value, ...Value[]]): QueueSetting<Value> {
  return {
    default: values[0],
    isValid: (value): value is Value => values.includes(value as Value),
    range: `one of ${values.join(', ')}`,
    column: { type: 'TEXT', nullable: false, boolean: false, values },
  };
}

function flag(byDefault: boolean): QueueSetting<boolean> {
  return {
    default: byDefault,
    isValid: (value) => typeof value === 'boolean',
    range: 'true or false',
    column: { type: 'INTEGER', nullable: false, boolean: true },
  };
}

function wholeNumber(range: { min: number; max: number; default?: number }): QueueSetting<number> {
  const { min, max } = range;
  return {
    default: range.default ?? min,
    isValid: (value): value is number =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    range: `a whole number from ${min} to ${max}`,
    column: { type: 'INTEGER', nullable: false, boolean: false },
  };
}

function orNull<Value>(setting: QueueSetting<Value>): QueueSetting<Value | null> {
  return {
    default: null,
    isValid: (value): value is Value | null => value === null || setting.isValid(value),
    range: setting.range,
    column: { ...setting.column, nullable: true },
  };
}
