/** The board of a run fits this many CSS pixels; on a wall it is enlarged until it fills the screen. */
const boardWidth = 1_060;
const boardHeight = 650;

/** The enlargement for a screen of this many CSS pixels; never under 1, where the board scrolls instead. */
export const presenterZoom = (width: number, height: number): number =>
  Math.max(1, Math.min(width / boardWidth, height / boardHeight));
