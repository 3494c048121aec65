/** The port through which group commit writes groups: to the redo log, or to a writer in memory. */
import type { Group, StatementAnswer } from '../model/group-message.ts';
import type { GroupNumber } from '../model/ids.ts';
import type { SqlStatement } from '../model/sql-statement.ts';

export interface WriterPort {
  /** Writes and syncs a group. The answer goes to `GroupCommit.onResult`, in the order of the groups. */
  send(group: Group): void;
  /**
   * Resolves when the tables have every group up to this one, which is durable; asks for it if it is not due yet. `GroupCommit.onApplied`
   * is called before. Rejects if the writer has ended.
   */
  whenApplied(through: GroupNumber): Promise<void>;
  /** Runs a statement of the session that has the writer reserved, one at a time. Rejects if the writer has ended. */
  executeStatement(statement: SqlStatement): Promise<StatementAnswer>;
  /** Undoes the statements that were executed and not committed by a group. Has no answer. */
  rollbackReservation(): void;
}
