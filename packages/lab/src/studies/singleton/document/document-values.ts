/** The values of the document's example. */
export const documentValues = {
  /** Value that `activate` sets. */
  start: 5,
  /** Value after 8 was added through server 1, as server 2 reads it. */
  sum: 13,
} as const;
