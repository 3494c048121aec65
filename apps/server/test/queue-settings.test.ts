/** A queue's settings are declared once, in a table of the engine, from which the API's schemas and its refusals are derived. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CreateQueue, QueueInfo } from '@shardlab/contract';
import {
  defaultQueueSettings,
  describeNeed,
  type GivenQueueSettings,
  type QueueSetting,
  type QueueSettingName,
  queueSettingNames,
  queueSettings,
} from '@shardlab/engine/queue-settings';
import { validateQueueSpec } from '@shardlab/engine/store-rules';
import { describe, expect, test } from 'vitest';

interface SettingSchema {
  type?: 'boolean' | 'integer' | 'null';
  minimum?: number;
  maximum?: number;
  anyOf?: (SettingSchema & { const?: string })[];
}

const schemas = CreateQueue.properties as unknown as Record<string, SettingSchema>;

/** Lower bounds of stored values where requests have another: an unsharded queue is stored with 0 shards. */
const leastOnlyInRows: Partial<Record<QueueSettingName, number>> = { shards: 0 };

test('the schema of a new queue has every setting of the engine, the name, and nothing else', () => {
  expect(Object.keys(schemas).sort()).toEqual(['name', ...queueSettingNames].sort());
  expect(Object.keys(QueueInfo.properties)).toEqual(expect.arrayContaining(queueSettingNames));
});

/** All sources except capabilities, where some features have the names of settings. */
const sources = globSync(['packages/*/src/**/*.ts', 'apps/server/src/**/*.ts'], {
  cwd: fileURLToPath(new URL('../../..', import.meta.url)),
  exclude: (path) => path.endsWith('capabilities.ts'),
});

/** These two settings have names that nothing else has, so that every property of such a name declares the setting. */
test.each(['correlationIndex', 'temporarySubscribers'])('%s is declared in one file, once', (name) => {
  const declaration = new RegExp(`^\\s+(?:readonly )?${name}\\??: .*`, 'gm');
  const declared = sources.flatMap((path) => {
    const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
    return Array.from(text.matchAll(declaration), () => path);
  });
  expect(declared).toEqual(['packages/engine/src/api/queue-settings.ts']);
});

/** Queues with all combinations of the settings that other settings depend on. */
const queues: GivenQueueSettings[] = (['sharded', 'unsharded'] as const).flatMap((kind) =>
  (['queue', 'topic'] as const).flatMap((type) =>
    (['durable', 'memory'] as const).flatMap((durability) =>
      [{}, { retentionMs: 1 }, { visibility: 'immediate' as const }, { attemptsMax: null }].map((rest) => ({
        kind,
        type,
        durability,
        ...rest,
      })),
    ),
  ),
);

/** A queue with this setting in use. */
function using(name: QueueSettingName, queue: GivenQueueSettings): GivenQueueSettings {
  const { valueInUse, column, bounds }: QueueSetting<unknown> = queueSettings[name];
  return { ...queue, [name]: valueInUse ?? (column.boolean ? true : bounds?.max) };
}

const refusal = (settings: GivenQueueSettings): string => {
  try {
    validateQueueSpec({ name: 'orders', ...settings });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe.each(
  queueSettingNames.flatMap((name) =>
    queueSettings[name].needs.map((need) => ({ name, rule: describeNeed(name, need), need })),
  ),
)('$rule', ({ name, rule, need }) => {
  test('is in the API’s description of a new queue', () => {
    expect((CreateQueue as { description?: string }).description).toContain(rule);
  });

  test('makes the engine refuse queues that violate it, and no others', () => {
    const [met, unmet] = [true, false].map((isMet) =>
      queues
        .map((queue) => using(name, queue))
        .filter((queue) => need.isMet({ ...defaultQueueSettings, ...queue }) === isMet)
        .map(refusal),
    );
    expect(unmet).toContainEqual(expect.stringMatching(`^${rule}`));
    expect(met).not.toContainEqual(expect.stringMatching(`^${rule}`));
  });
});

describe.each(queueSettingNames)('%s', (name) => {
  const setting: QueueSetting<unknown> = queueSettings[name];
  const schema = schemas[name]!;

  test('has the same values in the engine and in the API', () => {
    const named = schema.anyOf?.filter(({ const: value }) => value !== undefined) ?? [];
    if (named.length > 0) {
      expect(setting.column.values).toEqual(named.map(({ const: value }) => value));
    } else if (schema.type === 'boolean') {
      expect(setting.column.boolean).toBe(true);
    } else {
      // Or null, where that is not the default.
      const integer = schema.anyOf?.find(({ type }) => type === 'integer') ?? schema;
      expect(setting.isValid(null)).toBe(setting.nullMeans !== undefined);
      expect(integer.type).toBe('integer');
      const { minimum = Number.NaN, maximum = Number.NaN } = integer;
      const below = leastOnlyInRows[name] ?? minimum;
      expect([below - 1, minimum, maximum, maximum + 1].map((value) => setting.isValid(value))).toEqual([
        false,
        true,
        true,
        false,
      ]);
    }
  });
});
