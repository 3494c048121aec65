/** What the process that fills a folder and those who read it must agree on. */
export const partitionMessagesMax = 16;
/** Two chunks and a bit. */
export const streamBytes = 600_000;
/** Of the one remote session that the folder has outcomes of. */
export const sessionId = Buffer.from('0123456789abcdef');
