import { scenarioLimits } from '@shardlab/contract';

/** Why a file or text is not sent to the server, which would refuse it: it is too large for a scenario. Null if it is sent. */
export function uploadRejection(name: string, bytes: number): string | null {
  if (bytes <= scenarioLimits.bytesMax) return null;
  const kib = (count: number) => Math.ceil(count / 1024).toLocaleString('en-US');
  return `${name} is too large for a scenario: ${kib(bytes)} KiB (limit ${kib(scenarioLimits.bytesMax)} KiB)`;
}

/** Whether pasted text may be a scenario, which is a JSON object. Anything else in the clipboard is nobody's business. */
export const looksLikeScenario = (text: string): boolean => text.trimStart().startsWith('{');
