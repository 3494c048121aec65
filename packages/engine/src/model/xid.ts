/** The names of branches of distributed transactions. */
import { QueueError } from '../api/errors.ts';
import type { Xid } from '../api/xa.ts';

const formatIdMax = 2 ** 31 - 1;
/** The specification's MAXGTRIDSIZE and MAXBQUALSIZE. */
const partBytesMax = 64;

/** A copy of its own. Throws `XAER_INVAL`. */
export function validateXid({ formatId, gtrid, bqual }: Xid): Xid {
  if (!Number.isInteger(formatId) || formatId < 0 || formatId > formatIdMax)
    throw invalid(`formatId must be 0 to ${formatIdMax}`);
  for (const [name, part] of Object.entries({ gtrid, bqual })) {
    if (!(part instanceof Uint8Array) || part.length < 1 || part.length > partBytesMax)
      throw invalid(`${name} must be 1 to ${partBytesMax} bytes`);
  }
  return { formatId, gtrid: Uint8Array.from(gtrid), bqual: Uint8Array.from(bqual) };
}

/** Equal for equal global transactions. */
export function transactionKey({ formatId, gtrid }: Pick<Xid, 'formatId' | 'gtrid'>): string {
  return `${formatId}:${Buffer.from(gtrid).toString('hex')}`;
}

/** Equal for equal xids. */
export function xidKey(xid: Xid): string {
  return `${transactionKey(xid)}:${Buffer.from(xid.bqual).toString('hex')}`;
}

function invalid(message: string): QueueError {
  return new QueueError('XAER_INVAL', { message });
}
