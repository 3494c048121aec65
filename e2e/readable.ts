/** What every page is held to, in both themes and two sizes. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page } from '@playwright/test';
import type { RunOptions, run as runAxe } from 'axe-core';

export const themes = ['light', 'dark'] as const;
const viewports = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;
export const sizes = ['desktop', 'phone'] as const;

export async function showIn(page: Page, theme: (typeof themes)[number], size: (typeof sizes)[number]) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize(viewports[size]);
}

/** From a phone to a screen on a wall. */
const widths = [390, 768, 1440, 1920, 2560];

/** Resized to each width, nothing is wider than the screen and no number is cut off. Leaves the page as wide as it was. */
export async function expectWholeAtAllWidths(page: Page): Promise<void> {
  const before = page.viewportSize()!;
  const faults: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: before.height });
    await drawn(page);
    for (const fault of await page.evaluate(cutNumbers)) faults.push(`${width} px: ${fault}`);
  }
  await page.setViewportSize(before);
  expect(faults, 'wider than the screen, or cut').toEqual([]);
}

/** Charts measure their width in a frame, and draw in the next. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise((done) =>
        requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))),
      ),
  );
}

/** Runs in the page: what reaches beyond the screen, or beyond a box that hides what leaves it. A box that scrolls hides nothing. */
function cutNumbers(): string[] {
  const slackPx = 1.5;
  const faults = new Set<string>();
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.add(`the page is ${scrollWidth} px wide`);
  const named = (element: Element) =>
    `${element.tagName.toLowerCase()}${[...element.classList].map((name) => `.${name}`).join('')}`;

  /** The first ancestor that hides a part of the rectangle; null if none does, or one before it scrolls. */
  const hiderOf = (start: Element, rect: DOMRect): Element | null => {
    for (let box: Element | null = start; box !== null && box !== document.body; box = box.parentElement) {
      const { overflowX, overflowY, clipPath, position } = getComputedStyle(box);
      if (clipPath !== 'none') return null; // for screen readers only
      if (overflowX === 'auto' || overflowX === 'scroll') return null;
      const bounds = box.getBoundingClientRect();
      const isCutAcross = rect.left < bounds.left - slackPx || rect.right > bounds.right + slackPx;
      const isCutAlong = rect.top < bounds.top - slackPx || rect.bottom > bounds.bottom + slackPx;
      if (isCutAcross && overflowX !== 'visible') return box;
      if (isCutAlong && (overflowY === 'hidden' || overflowY === 'clip')) return box;
      if (position === 'fixed') return null;
    }
    return null;
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const parent = node.parentElement;
    if (parent === null || parent.closest('script, style') !== null) continue;
    // Not the digits of a name: "figure-3".
    for (const found of node.nodeValue!.matchAll(/(?<![\p{L}\d_-])\d[\d.,]*/gu)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const rect = range.getBoundingClientRect();
      if (rect.width === 0 || !parent.checkVisibility({ visibilityProperty: true })) continue;
      const hider = hiderOf(parent, rect);
      if (hider !== null)
        faults.add(`"${node.nodeValue!.trim()}" in ${named(parent)} is cut by ${named(hider)}`);
    }
  }
  for (const field of document.querySelectorAll<HTMLInputElement>('input')) {
    if (/\d/.test(field.value) && field.scrollWidth > field.clientWidth + slackPx && field.type !== 'range')
      faults.add(`the field with ${field.value} is too narrow`);
  }
  return [...faults];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What depends on colours, in which alone the themes differ. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/** Never wider than the screen, and without what Axe reports; in the second theme it is asked about colours only. */
export async function expectReadable(page: Page, theme: (typeof themes)[number] = themes[0]) {
  const { scrollWidth, clientWidth } = await page
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
  expect(scrollWidth, 'no sideways scrolling').toBeLessThanOrEqual(clientWidth);
  // A tab is there one rendering before its panel.
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[role=tab][aria-controls]')].every(
      (tab) => document.getElementById(tab.getAttribute('aria-controls')!) !== null,
    ),
  );
  expect(await axeViolations(page, theme === themes[0] ? {} : { runOnly: rulesOfColours })).toEqual([]);
}

/**
 * Runs Axe in the page, which has no frames. Its builder for Playwright would load it into the page anew each time, and into a
 * second page, which takes longer than the check.
 */
async function axeViolations(page: Page, options: RunOptions): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(
    async (options) => {
      const { axe } = globalThis as unknown as { axe: { run: typeof runAxe } };
      const { violations } = await axe.run(document, options);
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    },
    { ...options, resultTypes: ['violations' as const] },
  );
}
