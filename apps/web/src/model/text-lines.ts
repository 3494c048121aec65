/** Texts in charts at 11 px: how wide they are, and how they break into lines. Estimated, since tests have no font to measure. */

/** Width of a character, CSS pixels: slightly more than the average of system fonts. */
const characterPx = 5.6;

export const textWidth = (text: string): number => text.length * characterPx;

/**
 * Lines of whole words that fit a width, at most `linesMax` of them; the last ends in an ellipsis if words are left. A word that is
 * wider than a line stands alone, cut.
 */
export function wrapText(text: string, widthPx: number, linesMax: number): string[] {
  const charactersMax = Math.max(4, Math.floor(widthPx / characterPx));
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= charactersMax)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  const shown = lines.slice(0, linesMax);
  const isCut = lines.length > linesMax;
  return shown.map((line, index) => {
    const full = isCut && index === linesMax - 1 ? `${line} …` : line;
    return full.length <= charactersMax ? full : `${line.slice(0, charactersMax - 1).trimEnd()}…`;
  });
}
