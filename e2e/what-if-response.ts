/** How soon the What-if page answers while a slider moves: the time from each key to the first line that is drawn again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from '@playwright/test';

/** Time between two keys. Refining an answer takes less, so that a line that is drawn after a key is the answer to that key. */
const keyMs = 400;
const toEnd = 6;
const steps = 10;
const keys = [
  ...Array.from({ length: toEnd }, () => 'ArrowRight'),
  ...Array.from({ length: 2 }, () => [
    ...Array.from({ length: steps }, () => 'ArrowLeft'),
    ...Array.from({ length: steps }, () => 'ArrowRight'),
  ]).flat(),
];

interface Observed {
  answersMs: number[];
  pressedAt: number | null;
}

/** Times from a key to its answer in milliseconds, ascending, for keys that were answered before the next; and the number of keys. */
export async function measureWhatIf(
  browser: Browser,
  url: string,
): Promise<{ answersMs: number[]; moves: number }> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}/what-if?hardware=exadata-x4-2`);
  const simulated = page.getByRole('status').filter({ hasText: /^simulated$/ });
  await simulated.waitFor();
  const observed = await page.evaluateHandle((): Observed => {
    const state: Observed = { answersMs: [], pressedAt: null };
    document.addEventListener('keydown', () => (state.pressedAt = performance.now()), { capture: true });
    // Only simulated lines count, since the chart also draws the previous lines at once.
    new MutationObserver((changes) => {
      const isAnswer = changes.some(({ target }) =>
        (target as Element).matches('[data-series^="simulated/"]'),
      );
      if (!isAnswer) return;
      if (state.pressedAt !== null) state.answersMs.push(performance.now() - state.pressedAt);
      state.pressedAt = null;
    }).observe(document.querySelector('path[data-series="simulated/sharded"]')!.closest('svg')!, {
      attributeFilter: ['d'],
      subtree: true,
    });
    return state;
  });
  await page.getByRole('slider', { name: /^Disk sync time/ }).focus();
  for (const key of keys) {
    await page.keyboard.press(key);
    await pause(keyMs);
  }
  await simulated.waitFor();
  const { answersMs } = await observed.jsonValue();
  await page.close();
  return { answersMs: answersMs.sort((a, b) => a - b), moves: keys.length };
}
