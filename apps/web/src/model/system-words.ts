/** Systems in sentences and labels. Their whole titles, such as "Sharded queue, remote", are too long beside parameters. */

const words: Readonly<Record<string, string>> = {
  'unsharded-grouped': 'grouped unsharded',
  // No queues, which labels must not make them seem.
  'log-loop': 'bound L (log alone)',
  'group-loop': 'bound (groups in SQLite)',
};

/** "sharded", "grouped unsharded", "shared topic", "XA remote", "bound L (log alone)" */
export const systemInWords = (system: string): string =>
  words[system] ?? system.replaceAll('-', ' ').replace(/^(xa|rest) /, (prefix) => prefix.toUpperCase());
