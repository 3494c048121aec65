/** Checks that every page must pass, in both themes and two sizes. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type JSHandle, type Page, test } from '@playwright/test';
import type { RunOptions, run as runAxe } from 'axe-core';

export const themes = ['light', 'dark'] as const;
const viewports = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
const sizes = ['phone', 'desktop'] as const;

export async function showIn(page: Page, theme: (typeof themes)[number], size: (typeof sizes)[number]) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize(viewports[size]);
}

/** Resolves when charts are drawn: they measure their width in one frame, and draw in the next. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise((done) =>
        requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))),
      ),
  );
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of Axe that depend on colours, which are all that differs between the themes. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];
const withoutColours = Object.fromEntries(rulesOfColours.map((rule) => [rule, { enabled: false }]));

/**
 * Checks a page in both themes, on a phone and on a desktop. `load` opens it at the size of a phone, and it must follow the window
 * as that grows; other journeys load their pages at the size of a desktop. `check` has further checks.
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

/**
 * Expects that a page is not wider than the screen, and that Axe reports nothing; in the second theme only colours are checked.
 * Colours take most of the time, so each look of a text is checked once in each theme after the page was loaded.
 */
export async function expectReadable(page: Page, theme: (typeof themes)[number] = themes[0]) {
  const { scrollWidth, clientWidth } = await page
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
  expect(scrollWidth, 'no sideways scrolling').toBeLessThanOrEqual(clientWidth);
  // A tab is rendered one step before its panel.
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[role=tab][aria-controls]')].every(
      (tab) => document.getElementById(tab.getAttribute('aria-controls')!) !== null,
    ),
  );
  // Axe's package for Playwright would load Axe into the page each time, and into a second page, which takes longer than the check.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  const newTexts = await page.evaluateHandle(takeNewTexts, theme);
  const found = [
    await violations(newTexts, { runOnly: rulesOfColours }),
    theme === themes[0] ? await violations(null, { rules: withoutColours }) : [],
  ];
  expect(found.flat()).toEqual([]);

  /** What Axe reports in the whole page, or in the given elements. */
  function violations(within: JSHandle<Element[]> | null, options: RunOptions): Promise<string[]> {
    return page.evaluate(runAxeIn, { within, options: { ...options, resultTypes: ['violations' as const] } });
  }
}

/**
 * Runs in the page. Returns visible elements with text whose look no earlier call in this theme has returned since the page was
 * loaded, one of each look: the rows of a table need not be checked one by one. Whatever is positioned may lie over anything, so
 * each such element has a look of its own.
 */
function takeNewTexts(theme: string): Element[] {
  const root: HTMLElement & { takenLooks?: Partial<Record<string, Set<string | Element>>> } =
    document.documentElement;
  root.takenLooks ??= {};
  root.takenLooks[theme] ??= new Set();
  const taken = root.takenLooks[theme];

  const backgrounds = new Map<Element | null, string | undefined>([[null, '']]);
  /** All that is drawn behind the content of an element; undefined if it is positioned, or within what is. */
  const backgroundOf = (element: Element | null): string | undefined => {
    if (backgrounds.has(element)) return backgrounds.get(element);
    const behind = backgroundOf(element!.parentElement);
    const { position, backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(
      element!,
    );
    const isPositioned = behind === undefined || ['absolute', 'fixed', 'sticky'].includes(position);
    const own = [element!.className, backgroundColor, backgroundImage, opacity, filter, mixBlendMode];
    const background = isPositioned ? undefined : `${behind}/${own}`;
    backgrounds.set(element, background);
    return background;
  };
  const lookOf = (element: Element): string | Element => {
    const background = backgroundOf(element);
    if (background === undefined) return element;
    const { color, fontSize, fontWeight, textDecorationLine, textShadow } = getComputedStyle(element);
    const isDisabled = element.closest(':disabled, [aria-disabled=true]') !== null;
    const text = [element.tagName, color, fontSize, fontWeight, textDecorationLine, textShadow, isDisabled];
    return `${text} on ${background}`;
  };

  const hasText = (element: Element) =>
    element.matches('input, textarea, select') ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue!.trim() !== '');
  return [...document.body.querySelectorAll('*')].filter((element) => {
    if (!hasText(element) || !element.checkVisibility()) return false;
    const look = lookOf(element);
    return !taken.has(look) && taken.add(look);
  });
}

/** Runs Axe in the page, which has no frames. */
async function runAxeIn({
  within,
  options,
}: {
  within: Element[] | null;
  options: RunOptions;
}): Promise<string[]> {
  if (within !== null && within.length === 0) return [];
  const { axe } = globalThis as unknown as { axe: { run: typeof runAxe } };
  const { violations } = await axe.run(within === null ? document : { include: within }, options);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}
