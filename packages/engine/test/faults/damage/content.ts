/** What the process that fills a folder and those who read it must agree on. */
export const partitionMessagesMax = 16;
/** Two chunks and a bit. */
export const streamBytes = 600_000;
/** Of the one remote session that the folder has outcomes of. */
export const sessionId = Buffer.from('0123456789abcdef');
/** The numbers from which the two stages of the folder count. */
export const stages = [0, 100] as const;
/** The idempotency key of each stage, and the message that it stands for. */
export const keyOf = (stage: number) => `key of ${stage}`;
export const payloadOfKey = (stage: number) => `k${stage};`.padEnd(150, '.');
