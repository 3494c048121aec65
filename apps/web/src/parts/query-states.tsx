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

/** The error of a call in one sentence. */
export function ErrorNotice({ error, retrying = false }: { error: Error; retrying?: boolean }) {
  return (
    <div className="notice" data-tone="bad" role="alert">
      <p>
        {error.message}.{retrying ? ' Retrying.' : ''}
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

/** Shows the data of a query once it is there. An error is shown above the last data; `ServerLost` reports a server that is gone. */
export function QueryResult<Data>(props: {
  query: QueryState<Data>;
  name: string;
  children(data: Data): ReactNode;
}) {
  const { query, name, children } = props;
  const reason = query.error ?? query.failureReason;
  const error = reason instanceof ServerUnreachable ? null : reason;
  return (
    <>
      {error === null ? null : <ErrorNotice error={error} retrying={query.error === null} />}
      {query.data === undefined ? error === null ? <Loading name={name} /> : null : children(query.data)}
    </>
  );
}
