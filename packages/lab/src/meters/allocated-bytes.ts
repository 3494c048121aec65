import { getHeapStatistics } from 'node:v8';

/** Bytes of the objects that this thread has made since it began. Node's types do not have it yet; undefined in older ones. */
export const allocatedBytes = (): number | undefined =>
  (getHeapStatistics() as ReturnType<typeof getHeapStatistics> & { total_allocated_bytes?: number })
    .total_allocated_bytes;
