/** Streamed payloads are stored in chunks. */
import type { PayloadId } from './ids.ts';
import type { PayloadReference } from './payload-references.ts';

/** Identifies a chunk: payload ids are unique in the instance, chunks of a payload are numbered from 0. */
export interface ChunkKey {
  payloadId: PayloadId;
  chunkIndex: number;
}

/** A payload that no message refers to. */
export interface OrphanedPayload {
  payloadId: PayloadId;
  chunkCount: number;
}

export interface RecoveredPayloads {
  references: PayloadReference[];
  /** Empty if a stored reference is damaged: it is unknown then which payloads are needed, so none may be deleted. */
  orphans: OrphanedPayload[];
}
