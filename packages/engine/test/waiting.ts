/** Options of `vi.waitFor`, whose default limit of a second is too short on a busy machine. */
export const waiting = { timeout: 30_000, interval: 10 } as const;
