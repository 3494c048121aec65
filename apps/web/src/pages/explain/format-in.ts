import type { ActivityUnit } from '../../model/active-sessions.ts';
import { formatMs, formatSessions } from '../../model/format.ts';

/** A value in the unit of the page: "12.30", or "340 µs". */
export const formatIn = (unit: ActivityUnit, value: number): string =>
  unit === 'sessions' ? formatSessions(value) : formatMs(value / 1_000);
