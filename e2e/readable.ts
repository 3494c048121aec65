/** What every page is held to, in both themes and two sizes. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

export const themes = ['light', 'dark'] as const;
const viewports = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;
export const sizes = ['desktop', 'phone'] as const;

export async function showIn(page: Page, theme: (typeof themes)[number], size: (typeof sizes)[number]) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize(viewports[size]);
}

/** What depends on colours, in which alone the themes differ. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/** Never wider than the screen, and without what Axe reports; in the second theme it is asked about colours only. */
export async function expectReadable(page: Page, theme: (typeof themes)[number] = themes[0]) {
  const { scrollWidth, clientWidth } = await page
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
  expect(scrollWidth, 'no sideways scrolling').toBeLessThanOrEqual(clientWidth);
  const axe = new AxeBuilder({ page });
  if (theme !== themes[0]) axe.withRules(rulesOfColours);
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)).toEqual(
    [],
  );
}
