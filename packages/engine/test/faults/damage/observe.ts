/** Reads all content of a folder as a user would, and collects the reports of damage. */
import { createHash } from 'node:crypto';
import { checkFolder, type Instance, type Message, openInstance, QueueError } from '../../../src/index.ts';
import { messageIdsOf } from '../../../src/model/id-runs.ts';
import type { LocalInstance } from '../../../src/runtime/local-instance.ts';
import { keyOf, partitionMessagesMax, payloadOfKey, sessionId, stages } from './content.ts';

/** The content of a folder and the errors met while it was read. */
export interface Observation {
  /** A line for each message, queue and outcome that was read. A message that was consumed twice has two lines. */
  items: string[];
  /** Codes of typed errors with the place where they occurred, and the faults that the check found. */
  reports: string[];
  /** Errors that are not typed, or whose code does not report damage. */
  unexplained: string[];
}

/** Codes that tell a user that stored data is damaged or missing. */
const damageCodes = new Set([
  'STORAGE_CORRUPT',
  'PARTITION_DAMAGED',
  'COMMITS_MISSING',
  'STORAGE_FORMAT_OLDER',
  'STORAGE_FORMAT_NEWER',
]);

export const queueNames = ['q', 'old', 'retry', 'urgent', 'files', 'moved', 'jobs', 'tasks', 'last'];

export async function observe(dir: string): Promise<Observation> {
  const seen: Observation = { items: [], reports: [], unexplained: [] };
  await report(seen, 'check', () => {
    for (const fault of checkFolder(dir).faults) seen.reports.push(`check: ${fault}`);
  });
  await report(seen, 'open', async () => {
    const instance = (await openInstance({ dir, instance: 1, partitionMessagesMax })) as LocalInstance;
    try {
      await readInstance(instance, seen);
    } finally {
      await report(seen, 'close', () => instance.close());
    }
  });
  return seen;
}

async function readInstance(instance: LocalInstance, seen: Observation): Promise<void> {
  await report(seen, 'queues', () => {
    for (const { name, fault, ...info } of instance.queues()) {
      const {
        kind,
        type,
        shards,
        durability,
        priorities,
        attemptsMax,
        retryDelayMs,
        forwarding,
        correlationIndex,
      } = info;
      const settings = {
        kind,
        type,
        shards,
        durability,
        priorities,
        attemptsMax,
        retryDelayMs,
        forwarding,
        correlationIndex,
      };
      seen.items.push(
        `queue ${name} ${JSON.stringify(settings)} ${info.enqueueEnabled} ${info.dequeueEnabled}`,
      );
      if (fault !== undefined) seen.reports.push(`queue ${name}: ${fault.code}`);
    }
  });
  await report(seen, 'outcomes', () => {
    const { entry } = instance
      .recoverOutcomes()
      .attach({ session: sessionId, attachment: 1_000, owner: { detach: async () => undefined } });
    seen.items.push(`outcome ${entry.transactionNumber} ${messageIdsOf(entry.idRuns).join()}`);
  });
  for (const stage of stages) {
    await report(seen, keyOf(stage), async () => {
      const session = instance.openSession();
      session.enqueue('q', { payload: payloadOfKey(stage) });
      const { ids, replayed } = await session.commit({ idempotencyKey: keyOf(stage) });
      seen.items.push(`${keyOf(stage)} ${ids.join()} replayed ${replayed}`);
    });
  }
  await report(seen, 'moved', () => {
    const { forwardedIn, forwardedOut } = instance.queue('moved');
    seen.items.push(`moved in ${forwardedIn} out ${forwardedOut}`);
  });
  await report(seen, 'later', async () => {
    for (const message of (await instance.browse('later', { limit: 1_000 })).messages)
      seen.items.push(`later ${message.state} ${message.untilMs! > 0} ${message.payload}`);
  });
  for (const name of queueNames) await report(seen, name, () => drain(instance, name, seen));
  for (const topic of ['news', 'feed'])
    for (const subscriber of ['ann', 'bob'])
      await report(seen, `${topic} of ${subscriber}`, () => drain(instance, topic, seen, subscriber));
}

async function drain(
  instance: Instance,
  queue: string,
  seen: Observation,
  subscriber?: string,
): Promise<void> {
  const session = instance.openSession();
  const options = { max: 50, ...(subscriber === undefined ? {} : { subscriber }) };
  try {
    for (;;) {
      const messages = await session.dequeue(queue, options);
      if (messages.length === 0) return;
      const lines: string[] = [];
      for (const message of messages) {
        const content = await readPayload(message);
        lines.push(
          `${queue} ${subscriber ?? ''} ${message.id} ${content} ${message.deliveryCount} ${message.correlationId ?? ''} ${message.priority ?? ''}`,
        );
      }
      seen.items.push(...lines);
      await session.commit();
    }
  } finally {
    await session.close().catch(() => undefined);
  }
}

async function readPayload(message: Message): Promise<string> {
  if (!message.streamed) return message.payload.toString();
  const hash = createHash('sha256');
  for await (const piece of message.payloadStream()) hash.update(piece);
  return hash.digest('hex');
}

async function report(seen: Observation, where: string, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    const cause =
      error instanceof QueueError && error.code === 'INSTANCE_FAILED' ? error.details.cause : undefined;
    const code = error instanceof QueueError ? String(cause ?? error.code) : undefined;
    if (code !== undefined && damageCodes.has(code))
      seen.reports.push(`${where}: ${code} ${(error as Error).message}`);
    else seen.unexplained.push(`${where}: ${code ?? ''} ${error instanceof Error ? error.stack : error}`);
  }
}
