import { useSyncExternalStore } from 'react';
import { serverContact } from '../api/server-contact.ts';

/**
 * Since when the server has not answered, epoch milliseconds; null while it does. Its earlier data is stale, and its estimates
 * are invalid.
 */
export const useLostSince = (): number | null =>
  useSyncExternalStore(serverContact.subscribe, serverContact.lostSinceMs);
