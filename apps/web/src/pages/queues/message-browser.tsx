import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { browseQuery } from '../../api/queries.ts';
import { TextField } from '../../parts/field.tsx';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { MessageList } from './message-list.tsx';

const browseLimit = 20;

/** The messages of a queue and why each is still there; all of them, or those with one correlation id. */
export function MessageBrowser({ queue, subscriber }: { queue: QueueInfo; subscriber: string | undefined }) {
  const [typed, setTyped] = useState('');
  const [searchedId, setSearchedId] = useState<string>();
  const options = { limit: browseLimit, subscriber, correlationId: searchedId };
  const messages = useQuery(browseQuery(queue.name, options));
  const found = messages.data?.messages;
  const search = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== '' && typed === searchedId) void messages.refetch();
    setSearchedId(typed === '' ? undefined : typed);
  };
  return (
    <section className="section" aria-labelledby="browse">
      <div className="section-head">
        <h3 id="browse">Waiting messages{subscriber === undefined ? '' : ` for ${subscriber}`}</h3>
        <p className="small muted">The first {browseLimit}. Browsing does not consume or hold messages.</p>
      </div>
      <form className="form-row form-row-end" aria-label="Search the queue" onSubmit={search}>
        <TextField label="Filter by correlation id" value={typed} placeholder="any" onChange={setTyped} />
        <button type="submit" className="button">
          Search
        </button>
      </form>
      {messages.error === null ? null : <ErrorNotice error={messages.error} />}
      {found === undefined ? (
        <Loading name="messages" />
      ) : found.length === 0 ? (
        <p className="empty">{emptySentence(queue, subscriber, searchedId)}</p>
      ) : (
        <MessageList messages={found} label="Messages in the queue" queue={queue} />
      )}
    </section>
  );
}

function emptySentence(
  { type }: QueueInfo,
  subscriber: string | undefined,
  searchedId: string | undefined,
): string {
  if (searchedId !== undefined) return `No waiting message has the correlation id ${searchedId}.`;
  return type === 'topic' ? `No messages are waiting for ${subscriber}.` : 'The queue is empty.';
}
