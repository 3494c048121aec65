/** The states of a query to the server: loading, failed, answered. */
import type { ReactNode } from 'react';
import { ApiError, ServerUnreachable } from '../api/client.ts';

export function Loading({ name }: { name: string }) {
  return (
    <p className="empty" role="status">
      Loading {name}…
    </p>
  );
}

/**
 * The error of a call in one sentence. If the server is unreachable, it says how to start it and that the page retries.
 */
export function ErrorNotice({ error, retrying = false }: { error: Error; retrying?: boolean }) {
  const isUnreachable = error instanceof ServerUnreachable;
  return (
    <div className="notice" data-tone="bad" role="alert">
      <p>
        {error.message}
        {isUnreachable ? '. Start it with npm start. This page retries every 2 seconds.' : '.'}
        {!isUnreachable && retrying ? ' Retrying.' : ''}
      </p>
      {error instanceof ApiError ? <p className="small muted">{error.code}</p> : null}
    </div>
  );
}

interface QueryState<Data> {
  data: Data | undefined;
  error: Error | null;
  failureReason: Error | null;
}

/** Shows the data of a query once it is there. An error is shown above the last data. */
export function QueryResult<Data>(props: {
  query: QueryState<Data>;
  name: string;
  children(data: Data): ReactNode;
}) {
  const { query, name, children } = props;
  const error = query.error ?? query.failureReason;
  return (
    <>
      {error === null ? null : <ErrorNotice error={error} retrying={query.error === null} />}
      {query.data === undefined ? error === null ? <Loading name={name} /> : null : children(query.data)}
    </>
  );
}
