import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { browseQuery } from '../api/queries.ts';
import { TextField } from './field.tsx';
import { MessageList } from './message-list.tsx';
import { Failure, Loading } from './page-states.tsx';

const browseLimit = 20;

/** What is in the queue, and why each message is still there; all of it, or what has a correlation id. */
export function QueueBrowse({ queue, subscriber }: { queue: QueueInfo; subscriber: string | undefined }) {
  const [typed, setTyped] = useState('');
  const [sought, setSought] = useState<string>();
  const browsed = { limit: browseLimit, subscriber, correlationId: sought };
  const messages = useQuery(browseQuery(queue.name, browsed));
  const found = messages.data?.messages;
  const search = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== '' && typed === sought) void messages.refetch();
    setSought(typed === '' ? undefined : typed);
  };
  return (
    <section className="section" aria-labelledby="browse">
      <div className="section-head">
        <h3 id="browse">What waits{subscriber === undefined ? '' : ` for ${subscriber}`}</h3>
        <p className="small muted">Browsing consumes and holds nothing. The first {browseLimit}.</p>
      </div>
      <form className="form-row form-row-end" aria-label="Search the queue" onSubmit={search}>
        <TextField
          label="Only with this correlation id"
          value={typed}
          placeholder="any"
          onChange={setTyped}
        />
        <button type="submit" className="button">
          Search
        </button>
      </form>
      {messages.error === null ? null : <Failure error={messages.error} />}
      {found === undefined ? (
        <Loading what="messages" />
      ) : found.length === 0 ? (
        <p className="empty">{emptySentence(queue, subscriber, sought)}</p>
      ) : (
        <MessageList messages={found} label="Messages in the queue" queue={queue} />
      )}
    </section>
  );
}

function emptySentence(
  { type }: QueueInfo,
  subscriber: string | undefined,
  sought: string | undefined,
): string {
  if (sought !== undefined) return `No message with the correlation id ${sought} waits.`;
  return type === 'topic' ? `Nothing waits for ${subscriber}.` : 'The queue is empty.';
}
