/** Xids for tests. */
import type { Xid } from '../../src/api/xa.ts';

export const xidOf = (transaction: string, branch = 'a'): Xid => ({
  formatId: 1,
  gtrid: Buffer.from(transaction),
  bqual: Buffer.from(branch),
});
