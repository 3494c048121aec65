/**
 * Writes to the tables beside the messages and their consumption. They are rare, so each is a plain object; the writer
 * applies them in the transaction of their group. All kinds are listed here and not with their tables, because those who write
 * may not import storage; a kind that no table applies is an error of types in `InstanceFile`.
 */

import type { DelayMoment } from './delay-clock.ts';
import type { DelayedKey, DelayedRow } from './delayed-message.ts';
import type { AttemptRow } from './delivery-attempt.ts';
import type { DeliveryMark } from './delivery-mark.ts';
import type { EvacuatedKey, EvacuatedRow } from './evacuated-message.ts';
import type { ForwardedInRow, ForwardedOutRow } from './forwarding-row.ts';
import type { IdempotencyKeyRow } from './idempotency-key.ts';
import type { PartitionId, PayloadId, QueueId, SubscriberId } from './ids.ts';
import type { ChunkKey } from './payload-chunk.ts';
import type { PayloadReference } from './payload-references.ts';
import type { Sample } from './sample.ts';
import type { ServiceStateRow, ServiceTenureRow } from './service-rows.ts';
import type { SubscriptionRow } from './subscriber-row.ts';
import type { DecisionRow, PreparedBranchKey, PreparedBranchRow } from './xa-rows.ts';

/** A chunk of a streamed payload. */
export interface ChunkWrite {
  kind: 'chunk';
  key: ChunkKey;
  body: Uint8Array;
}

export type TableWrite =
  | ChunkWrite
  | { kind: 'subscribe'; subscription: SubscriptionRow }
  | { kind: 'unsubscribe'; subscriber: SubscriberId }
  | { kind: 'insert delayed'; message: DelayedRow }
  | { kind: 'delete delayed'; message: DelayedKey }
  | { kind: 'delay moment'; moment: DelayMoment }
  | { kind: 'delete queue'; queueId: QueueId }
  /** The last write of an opening. */
  | { kind: 'close'; deliveryMarks: DeliveryMark[] }
  | { kind: 'attempts'; partition: PartitionId; rows: AttemptRow[] }
  | { kind: 'evacuate'; partition: PartitionId; rows: Omit<EvacuatedRow, 'record'>[] }
  | { kind: 'evacuated attempts'; evacuated: Omit<EvacuatedRow, 'record'> }
  | { kind: 'evacuated consumed'; evacuated: EvacuatedKey }
  | { kind: 'forwarded out'; row: ForwardedOutRow }
  | { kind: 'forwarded in'; row: ForwardedInRow }
  | { kind: 'idempotency key'; row: IdempotencyKeyRow }
  | { kind: 'sample'; sample: Sample }
  | { kind: 'delete chunks'; payload: PayloadId; from: number; to: number }
  | { kind: 'payload referenced'; reference: PayloadReference }
  | { kind: 'payload released'; reference: PayloadReference }
  | { kind: 'prepare branch'; row: PreparedBranchRow }
  /** Committed or rolled back. */
  | { kind: 'end branch'; key: PreparedBranchKey }
  | { kind: 'decide commit'; row: DecisionRow }
  | { kind: 'forget decision'; gtrid: Uint8Array }
  | { kind: 'service state'; row: ServiceStateRow }
  | { kind: 'service tenure'; row: ServiceTenureRow };
