/** The names of branches of distributed transactions, and the checks of what a transaction manager says of one. */
import { QueueError } from '../api/errors.ts';
import type { XaEnd, XaStartOptions, Xid } from '../api/xa.ts';
import { assertFields } from './call-arguments.ts';
import { xaStartFields, xidFields } from './call-fields.ts';

const formatIdMax = 2 ** 31 - 1;
/** The specification's MAXGTRIDSIZE and MAXBQUALSIZE. */
const partBytesMax = 64;

/** A copy of its own. Throws `XAER_INVAL`. */
export function validateXid(xid: Xid): Xid {
  assertFields(xid, xidFields);
  const { formatId, gtrid, bqual } = xid;
  if (!Number.isInteger(formatId) || formatId < 0 || formatId > formatIdMax)
    throw invalid(`formatId must be 0 to ${formatIdMax}`);
  for (const [name, part] of Object.entries({ gtrid, bqual })) {
    if (!(part instanceof Uint8Array) || part.length < 1 || part.length > partBytesMax)
      throw invalid(`${name} must be 1 to ${partBytesMax} bytes`);
  }
  return { formatId, gtrid: Uint8Array.from(gtrid), bqual: Uint8Array.from(bqual) };
}

/** Throws `XAER_INVAL`; the values of a new branch are checked by its instance. */
export function validateStart(options: XaStartOptions): void {
  assertFields(options, xaStartFields);
  const { flag } = options;
  if (flag !== undefined && flag !== 'join' && flag !== 'resume')
    throw invalid('flag must be join or resume');
}

/** Throws `XAER_INVAL`. */
export function validateEnd(how: XaEnd): void {
  if (!['success', 'fail', 'suspend'].includes(how))
    throw invalid('A branch ends with success, fail or suspend');
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
