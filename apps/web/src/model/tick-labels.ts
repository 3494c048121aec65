/** Which ticks of a horizontal axis have labels where there is no room for all. */
import { textWidth } from './text-lines.ts';

/** Least distance between two labels, CSS pixels. */
const gapPx = 3;

/**
 * The labels that are shown, from left to right: those that leave a gap to the label before, and the last one, which then may
 * take the place of its neighbours. Labels are centred at `x`, CSS pixels, and given in the order of `x`.
 */
export function labelsThatFit<Label extends { x: number; text: string }>(labels: readonly Label[]): Label[] {
  const touch = (left: Label, right: Label) =>
    right.x - left.x < (textWidth(left.text) + textWidth(right.text)) / 2 + gapPx;
  const shown: Label[] = [];
  for (const [index, label] of labels.entries()) {
    const isLast = index === labels.length - 1;
    // The first one stays, so that both ends of the axis are named.
    while (isLast && shown.length > 1 && touch(shown.at(-1)!, label)) shown.pop();
    const before = shown.at(-1);
    if (before === undefined || !touch(before, label)) shown.push(label);
  }
  return shown;
}
