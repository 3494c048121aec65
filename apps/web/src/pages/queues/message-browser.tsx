import type { MessageState, QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { browseQuery } from '../../api/queries.ts';
import { Choice } from '../../parts/choice.tsx';
import { TextField } from '../../parts/field.tsx';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { MessageList } from './message-list.tsx';
import { useIsTraced } from './use-is-traced.ts';

const pageSize = 20;

type Shown = MessageState | 'waiting';

const states: readonly { value: Shown; label: string }[] = [
  { value: 'waiting', label: 'All that wait' },
  { value: 'ready', label: 'Ready' },
  { value: 'held', label: 'Held' },
  { value: 'delayed', label: 'Delayed' },
];
const processed = { value: 'processed', label: 'Processed' } as const;

/** The messages of a queue and why each is still there, page by page: in one state, or with one correlation id. */
export function MessageBrowser({ queue, subscriber }: { queue: QueueInfo; subscriber: string | undefined }) {
  const [typed, setTyped] = useState('');
  const [searchedId, setSearchedId] = useState<string>();
  const [shown, setShown] = useState<Shown>('waiting');
  /** The cursors of the pages turned so far; empty on the first. */
  const [pages, setPages] = useState<readonly string[]>([]);
  const state = shown === 'waiting' ? undefined : shown;
  const options = { limit: pageSize, subscriber, correlationId: searchedId, state, after: pages.at(-1) };
  const messages = useQuery(browseQuery(queue.name, options));
  const found = messages.data?.messages;
  const isTraced = useIsTraced(queue);
  const next = messages.data?.next ?? null;
  const search = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== '' && typed === searchedId) void messages.refetch();
    setSearchedId(typed === '' ? undefined : typed);
    setPages([]);
  };
  const show = (value: Shown) => {
    setShown(value);
    setPages([]);
  };
  return (
    <section className="section" aria-labelledby="browse">
      <div className="section-head">
        <h3 id="browse">Messages{subscriber === undefined ? '' : ` for ${subscriber}`}</h3>
        <p className="small muted">Browsing does not consume or hold messages.</p>
      </div>
      <Choice<Shown>
        label="State"
        value={shown}
        options={queue.retentionMs > 0 ? [...states, processed] : states}
        onChange={show}
      />
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
        <p className="empty">
          {emptySentence(queue, { subscriber, searchedId, shown, isLater: pages.length > 0 })}
        </p>
      ) : (
        <MessageList
          messages={found}
          label="Messages in the queue"
          queue={queue}
          traced={isTraced ? queue.name : undefined}
        />
      )}
      {pages.length === 0 && next === null ? null : (
        <nav className="row" aria-label="Pages of messages">
          <button
            type="button"
            className="button"
            disabled={pages.length === 0}
            onClick={() => setPages(pages.slice(0, -1))}
          >
            Previous page
          </button>
          <span className="small muted">Page {pages.length + 1}</span>
          <button
            type="button"
            className="button"
            disabled={next === null}
            onClick={() => next !== null && setPages([...pages, next])}
          >
            Next page
          </button>
        </nav>
      )}
    </section>
  );
}

function emptySentence(
  { type }: QueueInfo,
  asked: { subscriber: string | undefined; searchedId: string | undefined; shown: Shown; isLater: boolean },
): string {
  const { subscriber, searchedId, shown, isLater } = asked;
  if (isLater) return 'No more messages.';
  const kind = shown === 'waiting' ? 'waiting' : shown;
  if (searchedId !== undefined) return `No ${kind} message has the correlation id ${searchedId}.`;
  if (shown !== 'waiting') return `No message is ${shown}.`;
  return type === 'topic' ? `No messages are waiting for ${subscriber}.` : 'The queue is empty.';
}
