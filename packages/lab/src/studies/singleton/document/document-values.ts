/** The values of the document's example. */
export const documentValues = {
  /** What activate sets. */
  start: 5,
  /** After 8 was added through server 1, and what server 2 reads. */
  sum: 13,
} as const;
