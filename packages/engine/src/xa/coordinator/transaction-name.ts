/**
 * Global transaction ids of our coordinators: `<instance>.<epoch>.<number>`, in ASCII. The epoch is that of the coordinator's
 * instance when the transaction began. Transactions of earlier epochs can no longer be decided, because the file refuses the old
 * epoch.
 */

import type { Xid } from '../../api/xa.ts';
import type { Epoch, GlobalTransactionNumber, InstanceId } from '../../model/ids.ts';

/** "SHLD". Branches of other transaction managers have other format ids. */
export const coordinatorFormatId = 0x53484c44;

export interface TransactionName {
  /** The coordinator's instance. */
  instance: InstanceId;
  epoch: Epoch;
  number: GlobalTransactionNumber;
}

export function gtridOf({ instance, epoch, number }: TransactionName): Buffer {
  return Buffer.from(`${instance}.${epoch}.${number}`);
}

/** Undefined for a branch of another transaction manager. */
export function transactionNameOf({ formatId, gtrid }: Xid): TransactionName | undefined {
  if (formatId !== coordinatorFormatId) return undefined;
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(Buffer.from(gtrid).toString('latin1'));
  if (match === null) return undefined;
  return { instance: Number(match[1]), epoch: Number(match[2]), number: Number(match[3]) };
}
