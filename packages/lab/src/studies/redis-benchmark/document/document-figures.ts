/** The figures that the document's text gives; its diagrams are pictures without numbers. */
export const redisBenchmark = {
  /** Rate of buffered queues ÷ rate of persistent ones: from, to. */
  bufferedOverPersistent: [4, 5],
} as const;
