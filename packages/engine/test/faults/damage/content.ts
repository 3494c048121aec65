/** Constants on which the process that fills a folder and its readers must agree. */
export const partitionMessagesMax = 16;
/** Two chunks and a part of a third. */
export const streamBytes = 600_000;
/** The id of the one remote session whose outcomes the folder has. */
export const sessionId = Buffer.from('0123456789abcdef');
/** The number with which the messages of each of the two stages begin. */
export const stages = [0, 100] as const;
/** The idempotency key of each stage, and the message that it stands for. */
export const keyOf = (stage: number) => `key of ${stage}`;
export const payloadOfKey = (stage: number) => `k${stage};`.padEnd(150, '.');
