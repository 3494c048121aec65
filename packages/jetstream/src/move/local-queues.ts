/** The local engine as a move sees it: an instance in this process, or the client of a served cluster. */
import {
  type BrowsedMessage,
  type ClusterClient,
  type Instance,
  QueueError,
  type QueueInfo,
  type RemoteInstance,
  type Session,
} from '@shardlab/engine';

export type LocalQueues = Pick<
  RemoteInstance,
  'createQueue' | 'startQueue' | 'stopQueue' | 'dropQueue' | 'browse'
> & {
  openSession(): Session;
  queue(name: string): QueueInfo | Promise<QueueInfo>;
  probe: Instance['probe'] | ClusterClient['probe'];
};

const pageMessages = 500;

/** Counts and pages of a cluster are of the instances that answer. Throws the reason of one that cannot be relied on. */
export async function assertWhole(local: LocalQueues): Promise<void> {
  const probes = await local.probe();
  for (const { failure } of probes ?? []) if (failure !== undefined) throw failure;
}

export async function findLocal(local: LocalQueues, name: string): Promise<QueueInfo | undefined> {
  try {
    return await local.queue(name);
  } catch (error) {
    if (error instanceof QueueError && error.code === 'QUEUE_NOT_FOUND') return undefined;
    throw error;
  }
}

export async function* browseAll(
  local: LocalQueues,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<BrowsedMessage> {
  let after: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await local.browse(name, { limit: pageMessages, ...(after !== undefined && { after }) });
    yield* page.messages;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

export function notDrained(queue: string, held: number): QueueError {
  return new QueueError('QUEUE_NOT_DRAINED', {
    message: `Sessions still hold ${held === 0 ? 'or wait for' : held} messages of ${queue}, which is used as before: let them commit, then move it again`,
    details: { queue, held },
  });
}
