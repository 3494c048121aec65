/** Bounds of what can be asked of queues and their messages. */
export const queueLimits = {
  nameLengthMax: 64,
  payloadBytesMax: 1024 * 1024,
  /** Correlation id and group key, as UTF-8. */
  keyBytesMax: 512,
  propertiesMax: 64,
  /** All properties of a message, as JSON. */
  propertiesBytesMax: 64 * 1024,
  /** Characters in a query, whose URL and headers have 16 KiB together: with all else that a query can have, they fit. */
  queryPropertiesMax: 8 * 1024,
  queryRecipientsMax: 32,
  messagesPerCallMax: 1_000,
  dequeueMax: 1_000,
  waitMsMax: 30_000,
  holdMsMin: 10,
  holdMsMax: 7 * 24 * 60 * 60_000,
  browseMax: 500,
  /** 9 is the most urgent priority, 0 the default. */
  priorityMax: 9,
  delayMsMax: 400 * 24 * 60 * 60_000,
  /** Deliveries of a message before it moves to the exception queue, unless a queue says otherwise. */
  attemptsDefault: 5,
  /** Of a message that is returned. */
  returnDelayMsMax: 60 * 60_000,
  /** Characters of the error of a consumer; of each part the engine keeps less. */
  errorNameMax: 1_024,
  errorMessageMax: 16 * 1_024,
  errorStackMax: 64 * 1_024,
  /** Maximum page of traced messages, and maximum number of a queue's next messages that can be traced on request. */
  tracedMessagesMax: 100,
  tracesPendingMax: 100,
  subscribersMax: 1_024,
  subscriberNameMax: 128,
} as const;
