import { useState } from 'react';
import type { TimeCursor } from '../../parts/time-cursor.ts';

/**
 * Copies the address of the page, with what is selected on it and the place on the strip. Browsers have a clipboard on this
 * machine and over HTTPS only; elsewhere the address is shown to be copied by hand.
 */
export function CopyLink({ cursor }: { cursor: TimeCursor }) {
  const [copied, setCopied] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const copy = async () => {
    const address = addressAt(cursor.get());
    if (navigator.clipboard === undefined) setShown(address);
    else {
      await navigator.clipboard.writeText(address);
      setCopied(true);
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => void copy()}>
        <span aria-live="polite">{copied ? 'Link copied' : 'Copy link'}</span>
      </button>
      {shown === null ? null : (
        <input
          className="input"
          aria-label="Link to this page"
          readOnly
          value={shown}
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
