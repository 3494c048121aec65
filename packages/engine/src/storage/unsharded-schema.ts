/** The tables of the unsharded file, and how files of older versions get them. `docs/data-layout.md` shows them. */
import type { FormatStep } from './format.ts';
import { rateMarkStep } from './rate-mark-table.ts';
import { unshardedOutcomeStep } from './unsharded-outcomes.ts';

/**
 * A hand-out no longer rewrites the message and its place in the index: it is a small row of its own. Messages were handed
 * out in the order of their ids before too, which is what finding the next one relies on.
 */
const handOutStep = `
  CREATE TABLE hand_out (
    queue_id INTEGER NOT NULL,
    id INTEGER NOT NULL,             -- of a message that was handed out at least once
    holder INTEGER NOT NULL,         -- 0: it came back, and is ready again
    delivery_count INTEGER NOT NULL,
    PRIMARY KEY (queue_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX hand_out_returned ON hand_out (queue_id, id) WHERE holder = 0;
  INSERT INTO hand_out
    SELECT queue_id, id, held_by, delivery_count FROM message WHERE held_by > 0 OR delivery_count > 0;

  INSERT OR IGNORE INTO queue_total VALUES (0, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0), 0);

  CREATE TABLE ordered_message (
    id INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    record BLOB NOT NULL
  ) STRICT;
  INSERT INTO ordered_message SELECT id, queue_id, record FROM message ORDER BY id;
  DROP TABLE message;
  ALTER TABLE ordered_message RENAME TO message;
  CREATE INDEX message_by_order ON message (queue_id, id);
`;

/**
 * A queue that is sealed takes no messages any more, whatever a process believes that has not looked into the catalog
 * since: the commit that would add one fails. The row outlives its queue, since such a process may come late.
 */
const sealStep = `
  ALTER TABLE queue_total ADD COLUMN sealed_at INTEGER CHECK (sealed_at IS NULL OR enqueued <= sealed_at);
`;

export const unshardedSteps: readonly FormatStep[] = [
  `CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL,
    held_by INTEGER NOT NULL DEFAULT 0, -- 0: ready; else the holder that handed it out
    delivery_count INTEGER NOT NULL DEFAULT 0,
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX message_by_order ON message (queue_id, held_by, id);
  CREATE TABLE queue_total (
    queue_id INTEGER PRIMARY KEY,
    enqueued INTEGER NOT NULL,
    consumed INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE holder (
    holder INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL
  ) STRICT;`,
  `${unshardedOutcomeStep} ${handOutStep}`,
  `${sealStep} ${rateMarkStep}`,
];
