/** The tables of the unsharded file. `docs/data-layout.md` shows them. */
import { rateBaselineSql } from './rate-baseline-table.ts';
import { unshardedOutcomeTableSql } from './unsharded-outcome-table.ts';

/**
 * A delivery adds a small row of its own and leaves the message and its index entry as they are. Messages are delivered in
 * the order of their ids for the first time, which is what finding the next one relies on.
 *
 * `sealed_at`: a sealed queue accepts no messages, also from a process that has not read the catalog since; the commit that
 * would add one fails. The row outlives its queue, since such a process may come late.
 */
export const unshardedSchemaSql = `
  CREATE TABLE message (
    id INTEGER PRIMARY KEY,          -- never reused, in commit order
    queue_id INTEGER NOT NULL,
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX message_by_order ON message (queue_id, id);
  CREATE TABLE delivery (
    queue_id INTEGER NOT NULL,
    id INTEGER NOT NULL,             -- of a message that was delivered at least once
    holder INTEGER NOT NULL,         -- 0: the message was returned, and is ready again
    delivery_count INTEGER NOT NULL,
    PRIMARY KEY (queue_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX delivery_returned ON delivery (queue_id, id) WHERE holder = 0;
  CREATE TABLE queue_total (
    queue_id INTEGER PRIMARY KEY,    -- 0: all queues, so that its \`enqueued\` is the last message id
    enqueued INTEGER NOT NULL,
    consumed INTEGER NOT NULL,
    sealed_at INTEGER CHECK (sealed_at IS NULL OR enqueued <= sealed_at)
  ) STRICT;
  INSERT INTO queue_total (queue_id, enqueued, consumed) VALUES (0, 0, 0);
  CREATE TABLE holder (
    holder INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL
  ) STRICT;
  ${unshardedOutcomeTableSql}
  ${rateBaselineSql}
`;
