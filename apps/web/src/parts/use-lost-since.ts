import { useSyncExternalStore } from 'react';
import { serverContact } from '../api/server-contact.ts';

/** Since when the server has not answered, epoch milliseconds; null while it does. What it said then is stale, and its estimates are void. */
export const useLostSince = (): number | null =>
  useSyncExternalStore(serverContact.subscribe, serverContact.lostSinceMs);
