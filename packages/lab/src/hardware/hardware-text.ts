import type { HardwareFile } from '@shardlab/model';

/** A hardware file as text in the repository's format: lists of numbers are on one line. */
export function hardwareText(hardware: HardwareFile): string {
  const text = JSON.stringify(hardware, null, 2).replace(
    /\[\n[\d\s.,]+\]/g,
    (list) => `[${list.slice(1, -1).trim().split(/,\s+/).join(', ')}]`,
  );
  return `${text}\n`;
}
