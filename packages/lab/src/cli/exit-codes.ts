/** How the process ends; scripts rely on these. */
export const exitCodes = {
  done: 0,
  /** An error, a fault of integrity, or a required claim that does not hold. */
  failed: 1,
  /** The arguments or the scenario cannot be used. */
  usage: 2,
  /** Ended by an interrupt, as shells count it. */
  interrupted: 130,
} as const;
