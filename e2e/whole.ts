/** Checks at several widths of the window that nothing is wider than the screen and no text is cut off. */
import { expect, type Page } from '@playwright/test';
import { drawn } from './readable.ts';

/** A phone, a tablet, a small and a large desktop, and a screen on a wall. */
const widths = [390, 768, 1280, 1440, 2560];

/** Resizes a loaded page to each width and checks it; its window keeps the last width. */
export async function expectWholeAtAllWidths(page: Page): Promise<void> {
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    for (const fault of await page.evaluate(faultsOfLayout)) faults.push(`${width} px: ${fault}`);
  }
  expect(faults, 'wider than the screen, or cut off').toEqual([]);
}

/** Runs in the page. Text that a box hides counts as cut off, unless the box scrolls or ends with an ellipsis. */
function faultsOfLayout(): string[] {
  const slackPx = 1.5;
  const faults = new Set<string>();
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.add(`the page is ${scrollWidth} px wide`);
  const named = (element: Element) =>
    `${element.tagName.toLowerCase()}${[...element.classList].map((name) => `.${name}`).join('')}`;

  /** Styles and bounds of the ancestors of texts, which are read once for each. */
  const boxes = new Map<Element, { style: CSSStyleDeclaration; bounds: DOMRect }>();
  const boxOf = (element: Element) => {
    const box = boxes.get(element) ?? {
      style: getComputedStyle(element),
      bounds: element.getBoundingClientRect(),
    };
    boxes.set(element, box);
    return box;
  };

  /** The ancestor that hides a part of the rectangle; null if none does, or if the part can be scrolled into view. */
  const hiderOf = (start: Element, rect: DOMRect): Element | null => {
    for (let at: Element | null = start; at !== null && at !== document.body; at = at.parentElement) {
      const { style, bounds } = boxOf(at);
      const { overflowX, overflowY } = style;
      if (style.clipPath !== 'none') return null; // for screen readers only
      if (overflowX === 'auto' || overflowX === 'scroll') return null;
      const isCutAcross = rect.left < bounds.left - slackPx || rect.right > bounds.right + slackPx;
      const isCutDown = rect.top < bounds.top - slackPx || rect.bottom > bounds.bottom + slackPx;
      if (isCutAcross && overflowX !== 'visible') return at;
      if (isCutDown && overflowY !== 'visible')
        return overflowY === 'auto' || overflowY === 'scroll' ? null : at;
      if (style.position === 'fixed') return null;
    }
    return null;
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const parent = node.parentElement!;
    const text = node.nodeValue!;
    if (text.trim() === '' || parent.closest('script, style') !== null) continue;
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const hiderOfPart = (from: number, to: number) => {
      range.setStart(node, from);
      range.setEnd(node, to);
      const rect = range.getBoundingClientRect();
      return rect.width === 0 ? null : hiderOf(parent, rect);
    };
    const hider = hiderOfPart(0, text.length);
    if (hider === null) continue;
    // A name may end with an ellipsis, even if that hides digits as in "figure-3"; a number must be complete.
    const mayLeaveOut = boxOf(hider).style.textOverflow === 'ellipsis';
    const numbers = [...text.matchAll(/(?<![\p{L}\d_-])\d[\d.,]*/gu)];
    if (
      !mayLeaveOut ||
      numbers.some(({ index, 0: { length } }) => hiderOfPart(index, index + length) !== null)
    )
      faults.add(`"${text.trim()}" in ${named(parent)} is cut off by ${named(hider)}`);
  }
  for (const field of document.querySelectorAll<HTMLInputElement>('input:not([type=range])')) {
    // Only numbers and lists of numbers must fit. A title may be longer than its field on a phone, and scrolls while it is edited.
    if (/^[\d\s.,;-]+$/.test(field.value) && field.scrollWidth > field.clientWidth + slackPx)
      faults.add(`${field.value} does not fit its field ${field.name || named(field)}`);
  }
  return [...faults];
}
