import { useMutation, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { logIn, sessionQuery } from '../../api/queries.ts';
import { PasswordField } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** Shows the key to the server, which answers with the cookie of a session. */
export function LoginPage() {
  useTitle('Log in');
  const { next = '/' } = useSearch({ from: '/login' });
  const [key, setKey] = useState('');
  // A link on another site opens this page even with a session: the browser does not send the cookie with such a link.
  const session = useQuery({ ...sessionQuery, retry: false });
  const login = useMutation({ mutationFn: () => logIn(key) });
  const isIn = session.isSuccess || login.isSuccess;
  useEffect(() => {
    // Not by the router: the next page may be the API's description, which is not one of the dashboard's.
    if (isIn) window.location.replace(next);
  }, [isIn, next]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    login.mutate();
  };
  return (
    <div className="login">
      <header className="page-head">
        <h1>Log in</h1>
        <p className="lead">This server has a key. The session ends after 12 hours, or when you log out.</p>
      </header>
      <form className="panel queue-form" aria-label="Log in" onSubmit={submit}>
        <PasswordField label="Key" value={key} required maxLength={1024} onChange={setKey} />
        <div className="row">
          <button type="submit" className="button button-primary" disabled={login.isPending || isIn}>
            Log in
          </button>
        </div>
        {login.error === null ? null : <ErrorNotice error={login.error} />}
      </form>
    </div>
  );
}
