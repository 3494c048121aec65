/**
 * The schemas of a queue's settings, made from the engine's table. Settings whose values are names are not among them: those have
 * schemas of their own in `queue.ts`, which describe each value.
 */

import type { QueueSetting, QueueSettingName, QueueSettings } from '@shardlab/engine/queue-settings';
import { describeNeed, queueSettingNames, queueSettings } from '@shardlab/engine/queue-settings';
import Type, {
  type TBoolean,
  type TInteger,
  type TNull,
  type TOptional,
  type TSchema,
  type TUnion,
} from 'typebox';

type Named = 'kind' | 'type' | 'durability' | 'visibility' | 'attemptsCounted';
type Derived = Exclude<QueueSettingName, Named>;
type SchemaOf<Value> = [Value] extends [boolean] ? TBoolean : TInteger;
type GivenSchemas = {
  [Name in Exclude<Derived, 'attemptsMax'>]: TOptional<SchemaOf<NonNullable<QueueSettings[Name]>>>;
} & { attemptsMax: TOptional<TUnion<[TInteger, TNull]>> };
type StoredSchemas = {
  [Name in Derived]: null extends QueueSettings[Name]
    ? TUnion<[TInteger, TNull]>
    : SchemaOf<QueueSettings[Name]>;
};

const derived = queueSettingNames.filter((name) => queueSettings[name].column.values === undefined);
const mapDerived = (schemaOf: (setting: QueueSetting<unknown>) => TSchema) =>
  Object.fromEntries(derived.map((name) => [name, schemaOf(queueSettings[name])]));

/** Of a new queue: each may be left out. */
export const givenSettings = mapDerived((setting) => {
  const { column, bounds, nullMeans, about = '' } = setting;
  if (column.boolean || bounds === undefined) return Type.Optional(Type.Boolean({ description: about }));
  const range = { minimum: bounds.min, maximum: bounds.max };
  // Null can be given where it is not the default.
  return setting.default === null || nullMeans === undefined
    ? Type.Optional(Type.Integer({ ...range, description: about }))
    : Type.Optional(
        Type.Union([Type.Integer(range), Type.Null({ description: nullMeans })], { description: about }),
      );
}) as GivenSchemas;

/** Of a queue that exists. */
export const storedSettings = mapDerived(({ column, nullMeans }) => {
  if (column.boolean) return Type.Boolean();
  if (nullMeans === undefined) return Type.Integer();
  return Type.Union([Type.Integer(), Type.Null()], { description: `Null: ${nullMeans}` });
}) as StoredSchemas;

/** What settings need of each other, for a description. */
export const settingNeeds = queueSettingNames
  .flatMap((name) => queueSettings[name].needs.map((need) => describeNeed(name, need)))
  .join('; ');
