/**
 * Scrubs the catalog. A small catalog is scrubbed in one slice; only many thousand subscribers make it larger. A large one takes
 * a slice for the pages of each table, then slices for its rows. The checksum covers all rows, so a change of the catalog
 * restarts it.
 */
import { faultsInSnapshot, faultsOf, storedBytes } from '../sqlite/find-faults.ts';
import {
  CatalogContent,
  type ChecksumStep,
  catalogPath,
  checkedTables,
  findCatalogEndAndSchemaFaults,
  findCatalogFaults,
  structureFaults,
} from './catalog-file.ts';

export interface CatalogSliceBounds {
  /** A file up to this size is one slice. */
  wholeBytesMax: number;
  rowsMax: number;
  /** So often is the checksum begun; then it is taken in one slice. */
  beginningsMax: number;
}

const defaultBounds: CatalogSliceBounds = { wholeBytesMax: 4 * 1024 ** 2, rowsMax: 4_096, beginningsMax: 3 };

/** Yields the faults of each slice, in sentences. */
export function* scrubCatalog(dir: string, bounds = defaultBounds): Generator<string[]> {
  const path = catalogPath(dir);
  if (storedBytes(path) <= bounds.wholeBytesMax) {
    yield faultsOf(path, () => findCatalogFaults(dir));
    return;
  }
  yield faultsOf(path, () => findCatalogEndAndSchemaFaults(path));
  for (const table of ['sqlite_schema', ...checkedTables, 'catalog_state'])
    yield faultsInSnapshot(path, (file) => structureFaults(file, table));
  for (let begun = 0; begun < bounds.beginningsMax; begun += 1) {
    let isChanged = false;
    let next: ChecksumStep | undefined;
    do {
      const from = next;
      next = undefined; // an error ends it
      yield faultsInSnapshot(path, (file) => {
        const content = new CatalogContent(file);
        isChanged = from !== undefined && from.changeNumber !== content.changeNumber();
        if (!isChanged) next = content.verifyStep(from, bounds.rowsMax);
        return [];
      });
    } while (next !== undefined);
    if (!isChanged) return;
  }
  yield faultsInSnapshot(path, (file) => {
    new CatalogContent(file).verify();
    return [];
  });
}
