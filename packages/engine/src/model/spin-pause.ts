/**
 * `Atomics.pause`, which Node has from version 24 on. It tells the processor that this thread spins, so that the other thread of its
 * core gets more done; without it a loop spins all the same.
 */
export const spinPause: () => void = (Atomics as { pause?: () => void }).pause ?? (() => undefined);
