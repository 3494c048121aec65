/** The raw limits that a bench measures. */
import type { RawJob } from '@shardlab/lab';
import type { Scale } from './scale.ts';

export type RawKind = Pick<RawJob, 'cycle' | 'operationsPerTransaction' | 'pageBytes'>;

export function rawKindsOf(scale: Scale): RawKind[] {
  return scale.rawOperations.flatMap((operationsPerTransaction) =>
    ([4096, 16384] as const).flatMap((pageBytes) =>
      (['insert', 'insert-select-delete'] as const).map((cycle) => ({
        cycle,
        operationsPerTransaction,
        pageBytes,
      })),
    ),
  );
}
