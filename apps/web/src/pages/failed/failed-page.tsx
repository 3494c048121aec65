import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '../../api/client.ts';

/**
 * Stands for a page that threw while it was loaded or drawn; the frame around it stays. The link loads the lab anew instead of
 * routing to it, since the failure may have left something broken in this tab.
 */
export function FailedPage({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  return (
    <div className="page-head" role="alert">
      <h1>This page cannot be shown</h1>
      <p className="lead">
        It failed on what it was to show. Nothing was changed or lost on the server, and the other pages work.
      </p>
      <p className="notice" data-tone="bad">
        {error instanceof ApiError ? error.code : name}: {message}
      </p>
      <p>
        <button type="button" className="button" onClick={reset}>
          Try again
        </button>{' '}
        or <a href="/">go to the lab</a>
      </p>
    </div>
  );
}
