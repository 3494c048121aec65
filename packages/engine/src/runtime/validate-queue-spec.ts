/** Validates the settings of a new queue, one by one and against each other, and adds the defaults. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { QueueSpec } from '../api/queue.ts';
import {
  describeNeed,
  type QueueSetting,
  type QueueSettings,
  queueSettingNames,
  queueSettings,
} from '../api/queue-settings.ts';
import { assertFields } from '../model/call-arguments.ts';
import { queueSpecFields } from '../model/call-fields.ts';
import { exceptionQueueName, type NewQueueRow } from '../model/queue-row.ts';

/** Throws `QUEUE_SPEC_INVALID`; `details.field` is what to correct. */
export function validateQueueSpec(spec: QueueSpec): NewQueueRow {
  assertFields(spec, queueSpecFields);
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
  for (const name of queueSettingNames) {
    const setting: QueueSetting<unknown> = queueSettings[name];
    if (!setting.isInUse(row[name])) continue;
    for (const need of setting.needs) {
      const reason = need.because === undefined ? '' : `. ${need.because}`;
      assert(need.isMet(row), name, `${describeNeed(name, need)}${reason}`);
    }
  }
  for (const rule of otherRules(row)) assert(...rule);
  return row;
}

function withDefaults(spec: QueueSpec): QueueSettings {
  const settings = Object.fromEntries(
    queueSettingNames.map((name) => [name, spec[name] ?? queueSettings[name].default]),
  ) as unknown as QueueSettings;
  const isBuffered = settings.visibility === 'immediate';
  if (spec.attemptsMax === null || (spec.attemptsMax === undefined && isBuffered))
    settings.attemptsMax = null;
  const canForward = queueSettings.forwarding.needs.every(({ isMet }) => isMet(settings));
  return {
    ...settings,
    shards: settings.kind === 'sharded' ? settings.shards : 0,
    forwarding: spec.forwarding ?? canForward,
    messagesMax: spec.messagesMax ?? (isBuffered ? limits.undeliveredDefault : null),
  };
}

/** Those that compare values, or concern the name. */
function otherRules(row: NewQueueRow): [holds: boolean, field: keyof QueueSpec, sentence: string][] {
  const { cacheBytesMin, cacheBytesMax } = row;
  return [
    [row.kind !== 'sharded' || row.shards > 0, 'shards', `shards is ${queueSettings.shards.range}`],
    [
      row.attemptsMax === null || isName(exceptionQueueName(row.name)),
      'name',
      'The name is too long for that of its exception queue; with attemptsMax null it has none',
    ],
    [
      cacheBytesMax === null || cacheBytesMin <= cacheBytesMax,
      'cacheBytesMin',
      `cacheBytesMin, ${cacheBytesMin}, is over cacheBytesMax, ${cacheBytesMax}`,
    ],
  ];
}

function isName(name: string): boolean {
  return typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(name);
}
