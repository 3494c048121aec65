/** Systems in sentences and labels. Their whole titles, such as "Sharded queue, remote", are too long beside parameters. */

const words: Readonly<Record<string, string>> = { 'unsharded-grouped': 'grouped unsharded' };

/** "sharded", "grouped unsharded", "shared topic", "XA remote" */
export const systemInWords = (system: string): string =>
  words[system] ?? system.replaceAll('-', ' ').replace(/^(xa|rest) /, (prefix) => prefix.toUpperCase());
