import type { ViolationKind } from '../../src/index.ts';
import type { SourceEdit } from '../source-edit.ts';
import type { WorkloadName } from '../workloads.ts';

/** A bug that the checker must find, as edits of the engine's sources. */
export interface Plant {
  name: string;
  workload: WorkloadName;
  /** What the checker may call it. */
  kinds: readonly ViolationKind[];
  edits: readonly SourceEdit[];
}
