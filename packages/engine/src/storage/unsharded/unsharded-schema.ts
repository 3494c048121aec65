/** The tables of the unsharded file. `docs/data-layout.md` shows them. */
import { deliveryTableSql } from './delivery-table.ts';
import { holderTableSql } from './holder-table.ts';
import { messageTableSql } from './message-table.ts';
import { queueTotalTableSql } from './queue-total-table.ts';
import { rateBaselineSql } from './rate-baseline-table.ts';
import { recipientTableSql } from './recipient-table.ts';
import { topicSubscriberTableSql } from './topic-subscriber-table.ts';
import { unshardedOutcomeTableSql } from './unsharded-outcome-table.ts';

/**
 * A delivery adds a small row of its own and leaves the message and its index entry as they are. Messages are delivered in
 * the order of their ids for the first time, which is what finding the next one relies on.
 *
 * `sealed_at`: a sealed queue accepts no messages, also from a process that has not read the catalog since; the commit that
 * would add one fails. The row outlives its queue, since such a process may come late.
 */
export const unshardedSchemaSql = `
  ${messageTableSql}
  ${deliveryTableSql}
  ${queueTotalTableSql}
  ${holderTableSql}
  ${topicSubscriberTableSql}
  ${recipientTableSql}
  ${unshardedOutcomeTableSql}
  ${rateBaselineSql}
`;
