import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { formatTimeOfDay } from '../model/format.ts';
import { useLostSince } from './use-lost-since.ts';

/** Shown on every page while the server does not answer: since when the data is stale. Once it answers, all data is read again. */
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
      <strong>The server has not answered since {formatTimeOfDay(lostSinceMs, 'second')}.</strong> This page
      shows what it said then, and catches up when it answers again. If it has stopped, start it with{' '}
      <code>npm start</code>.
    </p>
  );
}
