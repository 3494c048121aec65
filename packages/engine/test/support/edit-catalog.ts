/** Changes rows of a catalog over a connection of its own, as another process of the cluster could. */
import { CatalogFile } from '../../src/storage/catalog/catalog-file.ts';

export function editCatalog(dir: string, sql: string, ...values: (number | string)[]): void {
  const catalog = new CatalogFile(dir, { busyMs: 5_000, pid: process.pid });
  try {
    catalog.change(() => catalog.database.prepare(sql).run(...values));
  } finally {
    catalog.close();
  }
}
