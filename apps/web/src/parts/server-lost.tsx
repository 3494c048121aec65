import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { formatTimeOfDay } from '../model/format.ts';
import { useLostSince } from './use-lost-since.ts';

/** On every page while the server does not answer: since when what is shown is stale. Once it answers, all is read anew. */
export function ServerLost() {
  const lostSinceMs = useLostSince();
  const client = useQueryClient();
  const wasLost = useRef(false);
  const isLost = lostSinceMs !== null;
  useEffect(() => {
    if (wasLost.current && !isLost) void client.invalidateQueries();
    wasLost.current = isLost;
  }, [isLost, client]);
  if (!isLost) return null;
  return (
    <p className="server-lost" role="alert">
      <strong>Nothing from the server since {formatTimeOfDay(lostSinceMs).slice(0, 8)}.</strong> What you see
      is as it was then, and continues by itself when the server answers. If it has ended,{' '}
      <code>npm start</code> starts it.
    </p>
  );
}
