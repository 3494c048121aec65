/** Values that `docs/distributed.md` states, and this study judges. */
export const documentValues = {
  /** An election takes 4 to 6 s. */
  electionMsMax: 6_000,
  /** Rate with synced acknowledgements, as a share of the rate without: it costs some. */
  syncedShareMax: 1,
  /** Rate on three servers, as a share of the rate on one: they cost some. */
  replicatedShareMax: 1,
  /** Rate of our engine in its own process over that of three servers that sync: it is faster. */
  localOverReplicatedMin: 1,
  /** Rate with a large backlog, as a share of that with a small one, … */
  backlogShareMin: 0.7,
  /** … which it is this many times as large as. */
  backlogRatioMin: 20,
} as const;
