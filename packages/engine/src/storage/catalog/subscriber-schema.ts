/** The catalog's tables of subscribers (`subscriber-table.ts`). */

export const subscriberTablesSql = `
  CREATE TABLE subscriber (
    subscriber INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    bound_instance INTEGER,                       -- a nondurable subscriber ends with this instance; NULL: durable
    UNIQUE (queue_id, name)
  ) STRICT;
  CREATE TABLE subscriber_applied (               -- instances that already keep messages for the subscriber
    subscriber INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    PRIMARY KEY (subscriber, instance)
  ) STRICT, WITHOUT ROWID;
`;
