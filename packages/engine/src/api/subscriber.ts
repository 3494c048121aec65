/** Subscribers of a topic. */
export interface SubscriberSpec {
  /** 1 to 128 characters. */
  name: string;
  /**
   * Default true: it misses nothing while it is offline. A nondurable subscriber ends with the instance that added it, and
   * so does its backlog.
   */
  durable?: boolean;
}

/** One subscriber of a topic, as seen on this instance. */
export interface SubscriberInfo {
  name: string;
  durable: boolean;
  /** Messages committed and not consumed by it, held ones included. Messages for others count until it passes over them. */
  backlog: number;
  held: number;
  /** Age of its oldest ready message in the cache, milliseconds; 0 if there is none. */
  lagMs: number;
}
