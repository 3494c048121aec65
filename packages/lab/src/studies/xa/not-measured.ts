import type { NotBuilt, NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Times of a cluster of three virtual machines with Oracle 12.1',
    reason:
      'other hardware and another program: with the emulated redo device, interconnect and round trip set from the document only ratios are compared; as this machine is, the same runs are shown beside them',
  },
  {
    statement: 'gc current block busy: 533 waits, 1.08 s',
    reason:
      'instances share no blocks here: each has a file of its own, so there is no global cache to wait for',
  },
  {
    statement: 'enq: TX - contention: 773 waits, 1.27 s',
    reason:
      'the event of this name counts who waits for rows that a branch in doubt has locked; the sessions of these runs insert rows with keys of their own, and the file of an instance has one writer, so there are no blocks of an index to wait for',
  },
  {
    statement: 'latch: ges resource hash list, latch: enqueue hash chains',
    reason: 'the locks of global transactions are in the memory of one thread, which needs no latch',
  },
  {
    statement: 'rdbms ipc reply: 1,469 waits, 1.15 s',
    reason:
      'a session hands its commit to the writer through shared memory; what it waits there is in its log file sync',
  },
  {
    statement: 'A second session slows the disk from 21.6 to 28.8 ms a sync, and not to twice the time',
    reason:
      'the emulated device serves one sync at a time, so two sessions wait up to twice as long: how the document’s disk overlapped writes is not told',
  },
];

export const notBuilt: readonly NotBuilt[] = [
  {
    feature: 'Preparing a branch at another instance than its own',
    instead:
      'XAER_NOTA there; a session that is connected to the branch’s instance can prepare it, whoever it is',
  },
];
