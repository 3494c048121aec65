/** For `vi.waitFor`, whose own limit of a second a busy machine exceeds. */
export const waiting = { timeout: 30_000, interval: 10 } as const;
