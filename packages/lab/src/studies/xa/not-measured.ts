import type { NotBuilt, NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement: 'Times of a cluster of three virtual machines with Oracle 12.1',
    reason:
      'other hardware and another program: with the emulated redo device, interconnect and round trip set from the document only ratios are compared; as this machine is, the same runs are shown beside them',
  },
  {
    statement: '1,000 inserts of each session in tests C1 to C6',
    reason:
      'a session makes 40 to 60 here (10 for the waits of ten transactions), in each of five repeats: times are compared for each message, and totals of a session are those of so many',
  },
  {
    statement: 'Syncs of 0.72 ms on an SSD',
    reason:
      'an emulated sync takes the longer of its own time and that of the disk of this machine, so on a disk that takes longer it is that; the mean is beside each result',
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
    feature: 'A call about a branch at any instance, without saying which one has the branch',
    instead:
      'a session of one instance names the instance of the branch, to which the call is passed on; else it is XAER_NOTA, since an instance that is down could not be asked. A session of the whole cluster (connectCluster) finds the branch: it asks the members in turn, and says XAER_NOTA only if all of them do',
  },
];
