/** Makes the copy of a catalog that of a cluster which nobody runs. */
import { openSqlite } from '../sqlite/open-sqlite.ts';
import { CatalogContent } from './catalog-file.ts';
import { forgetEpochOf, readEpochs } from './instance-epochs.ts';

/** The processes that it names have the files that it was copied from, and so may openings since the copies of the instances. */
export function disownCatalog(path: string): void {
  const file = openSqlite({ path });
  try {
    file.transaction(() => {
      file.exec('DELETE FROM host; DELETE FROM singleton');
      for (const instance of readEpochs(file).keys()) forgetEpochOf(file, instance);
      new CatalogContent(file).seal();
    })();
  } finally {
    file.close();
  }
}
