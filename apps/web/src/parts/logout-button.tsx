import { useMutation, useQuery } from '@tanstack/react-query';
import { logOut, sessionQuery } from '../api/queries.ts';

/** Ends the session of this browser. Without a key on the server there is none. */
export function LogoutButton() {
  const session = useQuery({ ...sessionQuery, retry: false });
  const logout = useMutation({ mutationFn: logOut, onSuccess: () => window.location.assign('/login') });
  if (session.data?.keyRequired !== true) return null;
  return (
    <button
      type="button"
      className="button button-quiet"
      disabled={logout.isPending}
      onClick={() => logout.mutate()}
    >
      Log out
    </button>
  );
}
