/** A queue is opened with settings that may not be those that it was created with: settings are fixed then. */
import { QueueError } from '../api/errors.ts';
import type { QueueInfo, QueueSpec } from '../api/queue.ts';
import { type QueueSetting, queueSettingNames, queueSettings } from '../api/queue-settings.ts';

/** Throws `QUEUE_SETTINGS_DIFFER` with each setting that was given and that the queue has otherwise. */
export function assertSameSettings(spec: QueueSpec, info: QueueInfo): void {
  const differing = queueSettingNames.flatMap((name) => {
    const given = spec[name];
    const setting: QueueSetting<unknown> = queueSettings[name];
    const isLeftOut = given === undefined || (given === null && !setting.isValid(null));
    const isIgnored = name === 'shards' && info.kind !== 'sharded';
    return isLeftOut || isIgnored || given === info[name] ? [] : [{ name, given, actual: info[name] }];
  });
  if (differing.length === 0) return;
  const inWords = differing.map(({ name, given, actual }) => `${name} is ${actual}, not ${inWord(given)}`);
  throw new QueueError('QUEUE_SETTINGS_DIFFER', {
    message: `${spec.name} exists with other settings: ${inWords.join('; ')}. Settings are fixed when a queue is created: leave them out to open it as it is`,
    details: { queue: spec.name, settings: differing },
  });
}

const inWord = (given: unknown) => (typeof given === 'string' ? given : JSON.stringify(given));
