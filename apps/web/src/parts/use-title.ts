import { useEffect } from 'react';

/** Sets the title of the page in the browser. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Shardlab' : `${title} · Shardlab`;
  }, [title]);
}
