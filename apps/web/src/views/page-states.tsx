/** What a page shows while it has nothing to show: loading, failed, empty. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError, ServerSilent } from '../api/client.ts';

export function Loading({ what }: { what: string }) {
  return (
    <p className="empty" role="status">
      Loading {what}…
    </p>
  );
}

/** A refused or unanswered call in one sentence. Silence is told as such: the page asks again by itself. */
export function Failure({ error, retrying = false }: { error: Error; retrying?: boolean }) {
  const silent = error instanceof ServerSilent;
  return (
    <div className="notice" data-tone="bad" role="alert">
      <p>
        {error.message}
        {silent ? '. Start it with npm start; this page tries again every 2 seconds.' : '.'}
        {!silent && retrying ? ' Trying again.' : ''}
      </p>
      {error instanceof ApiError ? <p className="small muted">{error.code}</p> : null}
    </div>
  );
}

interface Asked<Data> {
  data: Data | undefined;
  error: Error | null;
  failureReason: Error | null;
}

/** The states of a question to the server, around what is shown once it is answered. Old data outlives an error. */
export function Answered<Data>(props: { query: Asked<Data>; what: string; children(data: Data): ReactNode }) {
  const { query, what, children } = props;
  const error = query.error ?? query.failureReason;
  return (
    <>
      {error === null ? null : <Failure error={error} retrying={query.error === null} />}
      {query.data === undefined ? error === null ? <Loading what={what} /> : null : children(query.data)}
    </>
  );
}

export function NotFound() {
  return (
    <div className="page-head">
      <h1>There is no such page</h1>
      <p className="lead">
        <Link to="/">Go to the lab</Link>
      </p>
    </div>
  );
}
