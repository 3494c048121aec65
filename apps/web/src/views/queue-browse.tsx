import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { browseQuery } from '../api/queries.ts';
import { MessageList } from './message-list.tsx';
import { Failure, Loading } from './page-states.tsx';

const browseLimit = 20;

/** What is in the queue, and why each message is still there. */
export function QueueBrowse({ queue, subscriber }: { queue: QueueInfo; subscriber: string | undefined }) {
  const messages = useQuery(browseQuery(queue.name, { limit: browseLimit, subscriber }));
  const found = messages.data?.messages;
  return (
    <section className="section" aria-labelledby="browse">
      <div className="section-head">
        <h3 id="browse">What waits{subscriber === undefined ? '' : ` for ${subscriber}`}</h3>
        <p className="small muted">Browsing consumes and holds nothing. The first {browseLimit}.</p>
      </div>
      {messages.error === null ? null : <Failure error={messages.error} />}
      {found === undefined ? (
        <Loading what="messages" />
      ) : found.length === 0 ? (
        <p className="empty">{emptySentence(queue, subscriber)}</p>
      ) : (
        <MessageList messages={found} label="Messages in the queue" queue={queue} />
      )}
    </section>
  );
}

function emptySentence({ type }: QueueInfo, subscriber: string | undefined): string {
  return type === 'topic' ? `Nothing waits for ${subscriber}.` : 'The queue is empty.';
}
