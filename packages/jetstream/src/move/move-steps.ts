/** The steps of a move, of either direction, in their order. */
export const moveSteps = ['stop', 'drain', 'create', 'copy', 'check', 'switch', 'drop', 'done'] as const;
export type MoveStep = (typeof moveSteps)[number];
