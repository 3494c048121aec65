/**
 * What the tables know of the redo log: its id, the end of what is applied, and its segments. The position is written in the transaction
 * of the groups that it counts, so a group is applied once however that transaction ends.
 */
import type { GroupNumber } from '../../../model/ids.ts';
import type { StoredRedoLog } from '../../redo/log-end.ts';
import type { LogPosition } from '../../redo/log-reader.ts';
import { logIdBytes } from '../../redo/record.ts';
import type { SegmentRow } from '../../redo/segment-files.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule } from './table-module.ts';

export const readLastGroupSql = "SELECT value FROM meta WHERE key = 'last_group'";
export const writeLastGroupSql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('last_group', ?)";

export interface RedoLogRow {
  /** Always 1: there is one log. */
  log: number;
  logId: Uint8Array;
  /** Behind the last record that is applied: `LogPosition`. */
  turn: number;
  endOffset: number;
  groupNumber: GroupNumber;
  recordCrc: number;
}

const redoLog = new CheckedTable<RedoLogRow>({
  name: 'redo_log',
  columns: ['log', 'logId', 'turn', 'endOffset', 'groupNumber', 'recordCrc'],
  key: ['log'],
});

const redoSegment = new CheckedTable<{ [Column in keyof SegmentRow]: SegmentRow[Column] }>({
  name: 'redo_segment',
  columns: ['number', 'bytes'],
  key: ['number'],
});

export const redoTables = {
  schemaSql: `
    CREATE TABLE redo_log (
      log INTEGER PRIMARY KEY,
      log_id BLOB NOT NULL,
      turn INTEGER NOT NULL,
      end_offset INTEGER NOT NULL,
      group_number INTEGER NOT NULL,
      record_crc INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE redo_segment (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT;`,
  checkedTables: [redoLog, redoSegment],
} satisfies TableModule;

/** To be read in one transaction. Undefined for a file that was never opened. Throws `STORAGE_CORRUPT` if a row is damaged or missing. */
export function readRedoLog(file: SqliteFile): StoredRedoLog | undefined {
  redoLog.assertComplete(file);
  redoSegment.assertComplete(file);
  const [row] = redoLog.read(file);
  if (row === undefined) return undefined;
  const { logId, turn, endOffset: offset, groupNumber: group, recordCrc: crc } = row;
  const inTables = (file.prepare(readLastGroupSql).pluck().get() as GroupNumber | undefined) ?? 0;
  return {
    logId,
    applied: { turn, offset, end: { group, crc } },
    inTables,
    segments: redoSegment.read(file),
  };
}

/** Drawn at random, so that no other log has it. */
export const newLogId = (file: SqliteFile): Uint8Array =>
  file.prepare(`SELECT randomblob(${logIdBytes})`).pluck().get() as Uint8Array;

/** From now on the file has no log: the next opening begins one. */
export function endLog(file: SqliteFile): void {
  file.exec('DELETE FROM redo_log; DELETE FROM redo_segment');
}

export class RedoTableWriter {
  readonly #writeLog: (row: RedoLogRow) => void;
  readonly #writeSegment: (row: SegmentRow) => void;

  constructor(file: SqliteFile) {
    this.#writeLog = redoLog.createWriter(file);
    this.#writeSegment = redoSegment.createWriter(file);
  }

  writePosition(logId: Uint8Array, { turn, offset, end }: LogPosition): void {
    this.#writeLog({ log: 1, logId, turn, endOffset: offset, groupNumber: end.group, recordCrc: end.crc });
  }

  addSegment(row: SegmentRow): void {
    this.#writeSegment(row);
  }
}
