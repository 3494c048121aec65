import type { Hardware, MeasuredWorkload } from '@shardlab/contract';
import type { AgreementRow } from '@shardlab/model';

/** The only request of a worker. */
export interface ScoreRequest {
  hardware: Hardware;
  workloads: readonly MeasuredWorkload[];
}

/** The row of one workload. */
export interface ScoreResponse {
  /** Index of the workload. */
  index: number;
  row: AgreementRow;
}
