/** How much a trial keeps of the traces of single messages. */
export const sampledTraceLimits = {
  /** Of a trial. Some 2 kB each, in every point of a run. */
  messagesMax: 8,
  /** Of a message. One of a queue has some ten; one of a topic two more for each subscriber. */
  eventsMax: 64,
  /** Subscribers of which is kept where the message was. */
  whereaboutsMax: 8,
} as const;
