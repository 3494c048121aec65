/** What a queue has to offer for what a message asks for. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { RecordContent } from '../storage/message-record.ts';
import type { NewMessage } from '../types.ts';

/** Throws `MESSAGE_INVALID` if the message asks for something that the queue does not do. */
export function assertMessageFits(queue: QueueRow, message: NewMessage): void {
  const { recipients, priority = 0, delayMs = 0 } = message;
  if ((message as RecordContent).chunked !== undefined) throw new QueueError('MESSAGE_INVALID'); // the engine's own
  if (recipients === undefined && priority === 0 && delayMs === 0) return;
  const assert = (fits: boolean, field: keyof NewMessage, sentence: string) => {
    if (!fits) throw new QueueError('MESSAGE_INVALID', { sentence, details: { field } });
  };
  if (recipients !== undefined) {
    assert(
      queue.type === 'topic',
      'recipients',
      `${queue.name} is a queue: a message in it has no recipients`,
    );
    assert(
      recipients.length > 0 && recipients.length <= limits.subscribersMax,
      'recipients',
      `recipients names 1 to ${limits.subscribersMax} subscribers; without it, all get the message`,
    );
  }
  assert(priority === 0 || queue.priorities, 'priority', `${queue.name} was made without priorities`);
  assert(
    delayMs === 0 || (queue.kind === 'sharded' && queue.durability !== 'memory'),
    'delayMs',
    'Only a persistent sharded queue has a place for a delayed message',
  );
}
