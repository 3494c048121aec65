/** How a slower disk is emulated. */
export interface EmulatedSync {
  /** Milliseconds that a sync takes at least, taken in turn; at least one. */
  times: readonly number[];
  /** File of the disk that several instances share; undefined for one of its own. */
  device: string | undefined;
}

export const isEmulated = ({ times }: EmulatedSync): boolean => times.some((ms) => ms > 0);
