/** The settings of a queue that the engine declares and those that the API's schema describes are the same. */
import { CreateQueue } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import {
  type QueueSetting,
  type QueueSettingName,
  queueSettingNames,
  queueSettings,
} from '../../../packages/engine/src/model/queue-settings.ts';

interface SettingSchema {
  type?: 'boolean' | 'integer';
  minimum?: number;
  maximum?: number;
  anyOf?: { const: string }[];
}

const schemas = CreateQueue.properties as unknown as Record<string, SettingSchema>;

/** Of an unsharded queue the engine's own row says 0 shards; nobody can ask for them. */
const leastOnlyInRows: Partial<Record<QueueSettingName, number>> = { shards: 0 };

test('the schema of a new queue describes every setting of the engine, and nothing else beside the name', () => {
  expect(Object.keys(schemas).sort()).toEqual(['name', ...queueSettingNames].sort());
});

describe.each(queueSettingNames)('%s', (name) => {
  const setting: QueueSetting<unknown> = queueSettings[name];
  const schema = schemas[name]!;

  test('has the same values in both', () => {
    if (schema.anyOf !== undefined) {
      expect(setting.column.values).toEqual(schema.anyOf.map(({ const: value }) => value));
    } else if (schema.type === 'boolean') {
      expect(setting.column.boolean).toBe(true);
    } else {
      expect(schema.type).toBe('integer');
      const { minimum = Number.NaN, maximum = Number.NaN } = schema;
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
