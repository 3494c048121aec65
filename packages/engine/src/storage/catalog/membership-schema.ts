/** The catalog's tables of members and hosts (`membership.ts`). */

export const membershipTablesSql = `
  CREATE TABLE host (
    claim INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: a process with a lower one no longer hosts the instance
    instance INTEGER NOT NULL UNIQUE,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL,               -- boot and start time: tells the process from a later one with the same pid
    role TEXT NOT NULL CHECK (role IN ('embedded', 'owner', 'failover')),
    recalled_by INTEGER,                     -- pid of the owner, which is back and waits for the instance
    recalled_started TEXT
  ) STRICT;
  CREATE TABLE member (
    instance INTEGER PRIMARY KEY,            -- kept served by the processes of the cluster
    leaving INTEGER NOT NULL DEFAULT 0       -- 1: accepts no messages, and is deleted once it is empty
  ) STRICT;
  CREATE TABLE singleton (
    name TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL
  ) STRICT;
`;
