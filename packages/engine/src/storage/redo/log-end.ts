/** The end of a redo log on disk: of a log that nobody writes to, or of one that goes on meanwhile. */
import type { GroupNumber } from '../../model/ids.ts';
import { assertClaimMet, highestClaim } from './check-claims.ts';
import { type LogPosition, LogReader } from './log-reader.ts';
import { closeSegment, type OpenSegment, openSegment, type SegmentRow } from './segment-files.ts';

/** What the tables know of a log. */
export interface StoredRedoLog {
  logId: Uint8Array;
  /** Behind the last record that is applied. */
  applied: LogPosition;
  /** The last group in the tables: the last one that is applied, or a later one that ran statements of the application. */
  inTables: GroupNumber;
  segments: SegmentRow[];
}

/** Opens all segments that the tables list, or none. Throws `COMMITS_MISSING` if one is gone. */
export function openSegments(
  databasePath: string,
  { segments }: Pick<StoredRedoLog, 'segments'>,
): OpenSegment[] {
  const opened: OpenSegment[] = [];
  try {
    for (const row of segments) opened.push(openSegment(databasePath, row));
    return opened;
  } catch (error) {
    for (const segment of opened) closeSegment(segment);
    throw error;
  }
}

/** What a log has behind the groups that are applied. */
export interface LogEnd {
  /** Its last group, or the last one that is applied if it has none behind it. */
  last: GroupNumber;
  /** How many of its groups the tables do not have yet. */
  unapplied: number;
}

/**
 * Throws `COMMITS_MISSING` if the log is damaged before its end, or the tables lack what one of its records follows. The claims are
 * read first, so that a log to which another process writes meanwhile meets them. What that process has applied and written over since `log` was read counts as missing: then read again.
 */
export function readLogEnd(databasePath: string, log: StoredRedoLog): LogEnd {
  const segments = openSegments(databasePath, log);
  try {
    const claimed = highestClaim(log.logId, segments);
    const reader = new LogReader(log.logId, segments, log.applied, log.inTables);
    let unapplied = 0;
    for (; reader.next() !== undefined; unapplied += 1);
    reader.assertNoneRequired(databasePath);
    const last = reader.position.end.group;
    assertClaimMet(databasePath, claimed, last);
    return { last, unapplied };
  } finally {
    for (const segment of segments) closeSegment(segment);
  }
}
