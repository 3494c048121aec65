/** A generator of random numbers (mulberry32), so that a failing run can be repeated from its seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of kills and damage: the same in each `npm test`, another one in each `npm run torture`. */
export const drawnSeed = Number(process.env.SHARDLAB_SEED ?? 1);

/** Whether this is `npm run check`, which runs a part of the seeds of `npm test`. */
export const isCheck = process.env.SHARDLAB_CHECK !== undefined;

/** Whether this is `npm run torture`, which may take long. */
export const isTorture = process.env.SHARDLAB_SEED !== undefined;
