/** The wait events of a commit, for all kinds of writers, and the writer's own times, with which the waits are compared. */
import { registerCounter } from '../api/counters.ts';
import { registerWaitEvent } from '../api/waits.ts';

export const logFileSync = registerWaitEvent({
  name: 'log file sync',
  class: 'commit',
  about: 'a commit: its group is written and synced, without what the group spends on partitions',
  oneHolderIn: 'instance',
});

export const writerReservation = registerWaitEvent({
  name: 'writer reservation',
  class: 'concurrency',
  standsFor: null,
  about: 'another session has the writer reserved',
});

export const partitionMaintenance = registerWaitEvent({
  name: 'partition maintenance',
  class: 'configuration',
  standsFor: null,
  about: 'the part of a commit that creates, assigns and truncates partitions',
});

export const logFileSwitch = registerWaitEvent({
  name: 'log file switch (checkpoint incomplete)',
  class: 'configuration',
  about:
    'the part of a commit in which its group waits for room in the redo log: until the tables have what a segment holds',
});

export const logWrites = registerCounter({
  name: 'log writes',
  unit: 'writes',
  about: 'groups, or commits of sessions that write for themselves, as their writer counted them',
});

export const logWriteMs = registerCounter({
  name: 'log write time',
  unit: 'milliseconds',
  about: 'time of these writes with their syncs, as their writer measured it',
});

export const tableWrites = registerCounter({
  name: 'db file writes',
  unit: 'transactions',
  about: 'transactions in which the applier wrote groups of the redo log to the tables',
});

export const tableWriteMs = registerCounter({
  name: 'db file write time',
  unit: 'milliseconds',
  about:
    'time of these transactions with their syncs; nobody waits for it but reads of what is not applied yet',
});

export const messagesApplied = registerCounter({
  name: 'messages applied',
  unit: 'messages',
  about: 'messages of groups of the redo log that the tables have',
});

export const messagesStored = registerCounter({
  name: 'messages stored',
  unit: 'messages',
  about: 'those of them that reached a table: the others were consumed before',
});

export const commitWriteMs = registerCounter({
  name: 'log write time of commits',
  unit: 'milliseconds',
  about: 'the same, once for each commit that waited: what their waits for a log file sync are compared with',
});
