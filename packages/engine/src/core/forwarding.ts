/**
 * Forwarding, as rules. The messages of a shard move to another instance in numbered batches; a *loan* is what the
 * instance that gives them knows of one shard. At most one batch of a shard is under way, and as long as messages that
 * moved may not have been delivered, those behind them are delivered nowhere else (invariant 4).
 *
 *     home       nothing of it is elsewhere, or what is there was delivered, and that is written down
 *     open       the same, but only the receiver knows for certain after a crash: it is asked then
 *     sending    a batch is with the receiver, which has delivered all before it
 *     sendingOn  a batch is with the receiver, which has not
 *     settling   the receiver has committed the batch; here it is being consumed as moved
 *     away       the receiver has not delivered all that it was given
 *     asking     whether a batch arrived is not known: the connection was lost, or this instance opened again
 */
export type LoanState = 'home' | 'open' | 'sending' | 'sendingOn' | 'settling' | 'away' | 'asking';

export type LoanEvent =
  /** It is durable that this receiver has to be asked. */
  | 'opened'
  /** It is durable that it need not be asked any more. */
  | 'closed'
  | 'sent'
  /** The receiver has committed the batch. */
  | 'taken'
  /** The receiver has not, and will not. */
  | 'refused'
  | 'lost'
  /** The batch is consumed here. */
  | 'settled'
  /** The receiver has delivered all that it was given, or has given it on. */
  | 'delivered';

const table: Readonly<Record<LoanState, Partial<Readonly<Record<LoanEvent, LoanState>>>>> = {
  home: { opened: 'open' },
  open: { opened: 'open', closed: 'home', sent: 'sending' },
  sending: { taken: 'settling', refused: 'open', lost: 'asking' },
  sendingOn: { taken: 'settling', refused: 'away', lost: 'asking' },
  settling: { settled: 'away' },
  away: { sent: 'sendingOn', delivered: 'open' },
  // What the receiver has not delivered of earlier batches is asked for next.
  asking: { taken: 'settling', refused: 'away' },
};

/** Throws where the event cannot happen: that is a bug. */
export function nextLoanState(state: LoanState, event: LoanEvent): LoanState {
  const next = table[state][event];
  if (next === undefined) throw new RangeError(`a loan that is ${state} cannot be ${event}`);
  return next;
}

/**
 * Whether messages of the shard may be delivered here for the first time. A shard that goes home to its owner is not
 * delivered on the way: the owner may have the first part of it already.
 */
export function deliversHere(state: LoanState, goesHome: boolean): boolean {
  return state === 'home' || (state === 'open' && !goesHome);
}

/** The last batch that a receiver knows of, against the last one that is consumed as moved where it came from. */
export function isUnsettled(received: number, settled: number): boolean {
  return received > settled;
}

export interface BatchSizes {
  min: number;
  max: number;
  /** A receiver should be busy with a batch for about so long: more would keep the messages from others. */
  aimMs: number;
}

/** How many messages to ask for, after a batch of `last` messages was handed out within `tookMs`. */
export function nextBatchSize(last: number, tookMs: number, { min, max, aimMs }: BatchSizes): number {
  const factor = Math.min(2, aimMs / Math.max(tookMs, 1e-3));
  return Math.max(min, Math.min(max, Math.round(last * factor)));
}
