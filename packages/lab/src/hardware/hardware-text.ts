import type { HardwareFile } from '@shardlab/model';

/** A hardware file as text, laid out as the formatter of the repository has it: lists of numbers on one line. */
export function hardwareText(hardware: HardwareFile): string {
  const text = JSON.stringify(hardware, null, 2).replace(
    /\[\n[\d\s.,]+\]/g,
    (list) => `[${list.slice(1, -1).trim().split(/,\s+/).join(', ')}]`,
  );
  return `${text}\n`;
}
