/** The settings of a new queue: those of the caller with defaults, validated one by one and against each other. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { QueueSpec } from '../api/queue.ts';
import { exceptionQueueName, type NewQueueRow } from '../model/queue-row.ts';
import { type QueueSettings, queueSettingNames, queueSettings } from '../model/queue-settings.ts';

/** Throws `QUEUE_SPEC_INVALID`; `details.field` is what to correct. */
export function validateQueueSpec(spec: QueueSpec): NewQueueRow {
  const assert = (holds: boolean, field: keyof QueueSpec, sentence: string) => {
    if (!holds)
      throw new QueueError('QUEUE_SPEC_INVALID', { message: sentence, details: { ...spec, field } });
  };
  assert(
    isName(spec.name),
    'name',
    'A name is a letter, then letters, digits, dots, dashes or underscores; at most 64 in all',
  );
  const row = { name: spec.name, ...withDefaults(spec) };
  for (const name of queueSettingNames)
    assert(queueSettings[name].isValid(row[name]), name, `${name} is ${queueSettings[name].range}`);
  for (const rule of rulesBetweenSettings(row)) assert(...rule);
  return row;
}

function withDefaults(spec: QueueSpec): QueueSettings {
  const settings = Object.fromEntries(
    queueSettingNames.map((name) => [name, spec[name] ?? queueSettings[name].default]),
  ) as unknown as QueueSettings;
  return {
    ...settings,
    shards: settings.kind === 'sharded' ? settings.shards : 0,
    forwarding: spec.forwarding ?? canForward(settings),
    messagesMax: spec.messagesMax ?? (settings.visibility === 'immediate' ? limits.undeliveredDefault : null),
  };
}

function canForward({ kind, type, durability, retentionMs }: QueueSettings): boolean {
  return kind === 'sharded' && type === 'queue' && durability !== 'memory' && retentionMs === 0;
}

function rulesBetweenSettings(
  row: NewQueueRow,
): [holds: boolean, field: keyof QueueSpec, sentence: string][] {
  const { kind, type, durability, cacheBytesMin, cacheBytesMax } = row;
  const sharded = kind === 'sharded';
  const persistent = durability !== 'memory';
  const retries = row.attemptsMax !== null || row.retryDelayMs > 0;
  return [
    [
      sharded || persistent,
      'durability',
      'An unsharded queue is stored in a file: durability is durable or relaxed',
    ],
    [
      sharded || type === 'topic' || !row.priorities,
      'priorities',
      'Priorities need a sharded queue, or a topic',
    ],
    [sharded || type === 'topic' || !retries, 'attemptsMax', 'Retries need a sharded queue, or a topic'],
    [
      sharded || (cacheBytesMin === 0 && cacheBytesMax === null),
      'cacheBytesMax',
      'Only messages of sharded queues are cached',
    ],
    [!sharded || row.shards > 0, 'shards', `shards is a whole number from 1 to ${limits.shardsMax}`],
    [
      row.visibility === 'commit' || (sharded && !persistent),
      'visibility',
      'visibility is immediate only for a sharded queue whose durability is memory: what is written needs a commit',
    ],
    [
      row.messagesMax === null || row.visibility === 'immediate',
      'messagesMax',
      'messagesMax needs immediate visibility: staged messages do not count before their commit, which must not fail for it',
    ],
    [
      row.attemptsMax === null || persistent,
      'attemptsMax',
      'attemptsMax needs a persistent queue, whose attempts are stored',
    ],
    [
      row.attemptsMax === null || isName(exceptionQueueName(row.name)),
      'name',
      'The name is too long for that of its exception queue',
    ],
    [
      !row.forwarding || canForward(row),
      'forwarding',
      'forwarding is true only for a persistent sharded queue that is no topic and keeps no consumed messages',
    ],
    [
      row.retentionMs === 0 || (sharded && persistent),
      'retentionMs',
      'retentionMs is over 0 only for a persistent sharded queue, whose partitions keep what was consumed',
    ],
    [
      !row.correlationIndex || (sharded && persistent),
      'correlationIndex',
      'correlationIndex is true only for a persistent sharded queue, which has partitions',
    ],
    [
      !row.temporarySubscribers || (!sharded && type === 'topic'),
      'temporarySubscribers',
      'temporarySubscribers is true only for an unsharded topic',
    ],
    [
      cacheBytesMax === null || cacheBytesMin <= cacheBytesMax,
      'cacheBytesMin',
      `cacheBytesMin, ${cacheBytesMin}, is over cacheBytesMax, ${cacheBytesMax}`,
    ],
  ];
}

function isName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(name);
}
