/** What every page is held to, in both themes and two sizes. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page, test } from '@playwright/test';
import type { RunOptions, run as runAxe } from 'axe-core';

export const themes = ['light', 'dark'] as const;
const viewports = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
const sizes = ['phone', 'desktop'] as const;

export async function showIn(page: Page, theme: (typeof themes)[number], size: (typeof sizes)[number]) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize(viewports[size]);
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

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What depends on colours, in which alone the themes differ. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/**
 * Holds a page to it in both themes, on a phone and on a desktop. `load` opens it, on the phone: the other journeys open all that
 * they use on a desktop, so that it is loaded at both sizes, and here follows the window as it grows. `check`: what else must hold.
 */
export async function expectReadableEverywhere(page: Page, load: () => Promise<void>, check = () => {}) {
  await showIn(page, themes[0], sizes[0]);
  await load();
  for (const size of sizes) {
    for (const theme of themes) {
      await test.step(`in ${theme} on a ${size}`, async () => {
        await showIn(page, theme, size);
        await drawn(page);
        await expectReadable(page, theme);
        check();
      });
    }
  }
}

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
