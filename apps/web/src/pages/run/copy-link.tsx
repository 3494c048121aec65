import type { TimeCursor } from '../../parts/time-cursor.ts';
import { useCopy } from '../../parts/use-copy.ts';

/**
 * Copies the address of the page, with what is selected on it and the place on the strip. If that is refused, the address is shown
 * to be copied by hand.
 */
export function CopyLink({ cursor }: { cursor: TimeCursor }) {
  const { isCopied, refused, copy } = useCopy();
  return (
    <>
      <button type="button" className="button" onClick={() => void copy(addressAt(cursor.get()))}>
        <span aria-live="polite">{isCopied ? 'Link copied' : 'Copy link'}</span>
      </button>
      {refused === null ? null : (
        <input
          className="input"
          aria-label="Link to this page"
          readOnly
          value={refused}
          onFocus={({ target }) => target.select()}
        />
      )}
    </>
  );
}

function addressAt(atMs: number | null): string {
  const address = new URL(window.location.href);
  if (atMs === null) address.searchParams.delete('at');
  else address.searchParams.set('at', String(Math.round(atMs)));
  return address.href;
}
