/** How much a trial keeps of the traces of single messages. */
export const sampledTraceLimits = {
  /** Messages of a trial: about 2 kB each, in every point of a run. */
  messagesMax: 8,
  /** Events of a message. A queue's message has about ten, a topic's message two more for each subscriber. */
  eventsMax: 64,
  /** Subscribers of which is kept where the message was. */
  whereaboutsMax: 8,
} as const;
