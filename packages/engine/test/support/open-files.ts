/** The files of a folder that this process has open, as Linux lists them. */
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';

const descriptors = '/proc/self/fd';

export function openFilesIn(dir: string): string[] {
  const folder = `${realpathSync(dir)}/`;
  return readdirSync(descriptors)
    .map(targetOf)
    .filter((path) => path.startsWith(folder));
}

/** Empty for a descriptor that has been closed in the meantime, as that of the list itself. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`${descriptors}/${descriptor}`);
  } catch {
    return '';
  }
}
