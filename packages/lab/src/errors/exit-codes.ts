/** Exit codes of the process; scripts rely on them. */
export const exitCodes = {
  done: 0,
  /** An error, a fault of integrity, or a required claim that does not hold. */
  failed: 1,
  /** The arguments or the scenario cannot be used. */
  usage: 2,
  /** Interrupted: 128 + SIGINT, as shells report it. */
  interrupted: 130,
} as const;
