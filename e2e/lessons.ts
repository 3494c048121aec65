/**
 * `npm run lessons`: runs the six experiments in the browser, on a server of their own whose data are on a disk. Each asks its
 * question, gets a guess, is measured in under 30 s, and shows its answer. Prints the results of each on this machine and saves a
 * picture.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { expect, readRun, test } from './journey.ts';
import { open } from './pages.ts';

interface LessonFile {
  position: number;
  topic: string;
  scenario: { id: string; question: string };
  guess: { kind: 'slider' | 'choice' };
  happened: unknown[];
  waited: { sentences: unknown[] };
}

const folder = new URL('../scenarios/lessons/', import.meta.url);
const pictures = fileURLToPath(new URL('../test-results/lessons/', import.meta.url));
const lessons = readdirSync(folder)
  .map((file): LessonFile => JSON.parse(readFileSync(new URL(file, folder), 'utf8')))
  .sort((a, b) => a.position - b.position);

/** The longest time for which a visitor is told to wait. */
const runMsMax = 30_000;

/** Makes a guess, any of those that the page offers. */
async function guess(page: Page, { guess: { kind } }: LessonFile): Promise<void> {
  if (kind === 'choice') return page.getByRole('group').getByRole('radio').nth(1).check();
  const slider = page.getByRole('main').getByRole('slider');
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  await expect(slider).not.toHaveAttribute('aria-valuetext', 'no guess yet');
}

test('the page lists exactly these lessons', async ({ page }) => {
  await open(page, '/learn');
  await expect(page.getByRole('main').getByRole('heading', { level: 3 })).toHaveText(
    lessons.map(({ topic }) => new RegExp(topic)),
  );
});

for (const lesson of lessons) {
  test(lesson.topic, async ({ page, request }) => {
    // If the machine is busy, the page asks for a confirmation; the lesson is run anyway.
    await page.addLocatorHandler(page.getByRole('dialog', { name: 'The machine is busy' }), (dialog) =>
      dialog.getByRole('button', { name: 'Run anyway' }).click(),
    );
    await open(page, `/learn/${lesson.scenario.id}`);
    await guess(page, lesson);
    await page.getByRole('button', { name: /^Run it, about/ }).click();
    await expect(page.getByRole('heading', { name: 'The answer' })).toBeVisible({ timeout: 90_000 });

    const id = new URL(page.url()).searchParams.get('run')!;
    const run = await readRun(request, id);
    expect(run.status).toBe('done');
    const tookMs = run.endedAtMs! - run.startedAtMs!;
    expect(tookMs, 'milliseconds of the run').toBeLessThan(runMsMax);
    for (const { integrity } of run.points) expect(integrity).toMatchObject({ lost: 0, duplicated: 0 });
    // The page leaves out sentences with quantities that the run did not measure.
    const sentencesOf = (name: string) => page.getByRole('region', { name }).getByRole('listitem');
    await expect(sentencesOf('What happened')).toHaveCount(lesson.happened.length);
    const waited = await sentencesOf('Where it waited').allTextContents();
    expect(waited.length).toBeGreaterThanOrEqual(lesson.waited.sentences.length);
    const answer = page.getByRole('region', { name: 'The answer' });
    const said = [
      `${lesson.topic}: ${(tookMs / 1000).toFixed(1)} s. ${lesson.scenario.question}`,
      await answer.locator('.lesson-number').textContent(),
      ...(await sentencesOf('What happened').allTextContents()),
      ...waited,
    ];
    expect(said.join('\n')).not.toMatch(/[{}]|NaN|undefined|Infinity/);
    console.log(said.join('\n    '));
    await page.screenshot({ path: `${pictures}${lesson.scenario.id}.png`, fullPage: true });
  });
}
