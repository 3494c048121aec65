/** What a queue may be: the spec of a caller with its defaults, checked. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { exceptionQueueName, type NewQueueRow } from '../storage/catalog.ts';
import type { Durability, QueueKind, QueueSpec, QueueType } from '../types.ts';

const kinds: readonly QueueKind[] = ['sharded', 'unsharded'];
const types: readonly QueueType[] = ['queue', 'topic'];
const durabilities: readonly Durability[] = ['durable', 'relaxed', 'memory'];

/** Throws `QUEUE_SPEC_INVALID`. */
export function checkSpec(spec: QueueSpec): NewQueueRow {
  const { name, kind = 'sharded', type = 'queue', durability = 'durable', priorities = false } = spec;
  const {
    attemptsMax = null,
    retryDelayMs = 0,
    cacheBytesMin = 0,
    cacheBytesMax = null,
    correlationIndex = false,
  } = spec;
  const shards = kind === 'sharded' ? (spec.shards ?? 1) : 0;
  const forwards = kind === 'sharded' && type === 'queue' && durability !== 'memory';
  const forwarding = spec.forwarding ?? forwards;
  const assert = (holds: boolean, sentence: string) => {
    if (!holds) throw new QueueError('QUEUE_SPEC_INVALID', { sentence, details: { ...spec } });
  };
  assert(
    isName(name),
    'A name is a letter, then letters, digits, dots, dashes or underscores; at most 64 in all',
  );
  assert(kinds.includes(kind), `kind is one of ${kinds.join(', ')}`);
  assert(types.includes(type), `type is one of ${types.join(', ')}`);
  assert(durabilities.includes(durability), `durability is one of ${durabilities.join(', ')}`);
  if (kind === 'unsharded') {
    assert(durability !== 'memory', 'An unsharded queue lies in a file: durable or relaxed');
    assert(type === 'queue', 'A topic is sharded');
    assert(
      !priorities && attemptsMax === null && retryDelayMs === 0,
      'Priorities and retries need a sharded queue',
    );
    assert(cacheBytesMin === 0 && cacheBytesMax === null, 'Only messages of sharded queues are cached');
  } else
    assert(inRange(shards, 1, limits.shardsMax), `shards is a whole number from 1 to ${limits.shardsMax}`);
  if (attemptsMax !== null) {
    assert(inRange(attemptsMax, 1, limits.attemptsMax), `attemptsMax is 1 to ${limits.attemptsMax}`);
    assert(durability !== 'memory', 'Attempts are written down, which a nonpersistent queue does not');
    assert(isName(exceptionQueueName(name)), 'The name is too long for that of its exception queue');
  }
  assert(
    inRange(retryDelayMs, 0, limits.retryDelayMsMax),
    `retryDelayMs is a whole number from 0 to ${limits.retryDelayMsMax}`,
  );
  assert(
    typeof forwarding === 'boolean' && (forwards || !forwarding),
    'forwarding is true or false, and true only for a persistent sharded queue that is no topic',
  );
  assert(
    correlationIndex === false ||
      (correlationIndex === true && kind === 'sharded' && durability !== 'memory'),
    'correlationIndex is true or false, and true only for a persistent sharded queue, which has partitions',
  );
  const cacheMost = limits.cacheBytesMax;
  assert(
    inRange(cacheBytesMin, 0, cacheMost),
    `cacheBytesMin is a whole number of bytes from 0 to ${cacheMost}`,
  );
  assert(
    cacheBytesMax === null || inRange(cacheBytesMax, 1, cacheMost),
    `cacheBytesMax is a whole number of bytes from 1 to ${cacheMost}`,
  );
  assert(
    cacheBytesMax === null || cacheBytesMin <= cacheBytesMax,
    `cacheBytesMin, ${cacheBytesMin}, is over cacheBytesMax, ${cacheBytesMax}`,
  );
  return {
    name,
    kind,
    type,
    shards,
    durability,
    priorities,
    attemptsMax,
    retryDelayMs,
    forwarding,
    cacheBytesMin,
    cacheBytesMax,
    correlationIndex,
  };
}

function isName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(name);
}

function inRange(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}
