/**
 * Who leads a consumer, and since when. A new leader counts the time of a held message from when it was stored, not from
 * when it was delivered (the time that nats-server 2.15 replicates with a delivery), so it may deliver it again at once.
 * Within the time of one leader a hold lasts, and only then may its holder end it: a return would end the next one's.
 */
import type { ServerLink } from './server-link.ts';

export interface PullTarget {
  stream: string;
  consumer: string;
}

/** A text that is another one after each change of the leader. A consumer without replicas changes with its server's process. */
export async function readLeader(link: ServerLink, { stream, consumer }: PullTarget): Promise<string> {
  const { cluster } = await link.call(() => link.manager.consumers.info(stream, consumer));
  const { leader, leader_since: since } = (cluster ?? {}) as { leader?: string; leader_since?: string };
  return since === undefined ? `server ${link.connection.info?.server_id}` : `${leader} since ${since}`;
}
