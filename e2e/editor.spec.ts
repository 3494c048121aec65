/** The scenario editor: form and JSON edit the same scenario, faults are shown at their field and line, and a saved scenario can run. */
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, idleMachine, test } from './journey.ts';
import { expectReadableEverywhere } from './readable.ts';

const threads = /^Threads .*: values$/;

async function edit(page: Page, address: string) {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(address);
  await expect(page.getByRole('heading', { level: 1, name: 'Scenario editor' })).toBeVisible();
  await expect(page.getByRole('status').filter({ hasText: /Quick/ })).toBeVisible();
  return errors;
}

const json = (page: Page) => page.getByRole('textbox', { name: 'Scenario as JSON' });
const state = (page: Page) => page.getByRole('region', { name: 'State of the draft' });

test('a built-in scenario is copied, one thing is changed, and it is saved and run', async ({ page }) => {
  await idleMachine(page);
  await page.goto('/scenarios/first-look');
  await page.getByRole('link', { name: 'Copy and edit' }).click();
  await expect(state(page).getByRole('status')).toContainText('12 points');
  await page.getByLabel(threads).fill('1, 8');
  await expect(json(page)).toContainText('"threads": [1, 8]');
  await page.getByLabel('Warm-up, milliseconds').last().fill('100');
  await page.getByLabel('Measured time, milliseconds').last().fill('250');
  await expect(state(page).getByRole('status')).toContainText('12 points in 60 trials');
  await expect(state(page).getByRole('status')).toContainText(
    /up to 16 sessions in \d process(es)?, as fast as they can: .* may be full; at most .* of disk at a time/,
  );
  await state(page)
    .getByText(/changes from/)
    .click();
  await expect(state(page)).toContainText('sweep.threads: 1, 4, 16 → 1, 8');
  await state(page).getByRole('button', { name: 'Save as my scenario' }).click();
  await state(page).getByRole('button', { name: 'Run quick' }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('(copy)');
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await expect(page.getByRole('link', { name: 'Edit and run' })).toBeVisible();
});

test('a fault is shown at its field and its line, and stays visible when the page is scrolled', async ({
  page,
}) => {
  await edit(page, '/editor?scenario=first-look');
  await page.getByLabel(threads).fill('1, 1000');
  const field = page.locator('[data-parameter=threads]');
  await expect(field).toContainText('Must be at most 256, not 1000');
  await expect(page.getByLabel(threads)).toHaveAttribute('aria-invalid', 'true');
  await expect(json(page)).toContainText('Must be at most 256, not 1000');
  await expect(state(page).getByRole('button', { name: 'Save as my scenario' })).toBeDisabled();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  const fault = state(page).getByRole('listitem').filter({ hasText: 'Must be at most 256' });
  await expect(fault).toBeInViewport();
  await fault.getByRole('button', { name: /^Line \d+$/ }).click();
  await expect(json(page)).toBeFocused();
});

test('the JSON is completed from the schema, and the form follows it', async ({ page }) => {
  await edit(page, '/editor?scenario=first-look');
  await json(page).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText('{\n  "program": "queue",\n  "par');
  await expect(page.getByText('The JSON is incomplete')).toBeVisible();
  await expect(state(page).getByRole('listitem')).toContainText('Not JSON');
  await page.keyboard.press('ControlOrMeta+Space');
  await expect(page.getByRole('option', { name: /"parameters"/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText('{ "program": "queue", "titel": "T", "parameters": { "payloadByte": 1 } }');
  const faults = state(page).getByRole('listitem');
  await expect(faults.filter({ hasText: 'did you mean "payloadBytes"?' })).toHaveCount(1);
  await expect(faults.filter({ hasText: 'did you mean "title"?' })).toHaveCount(1);
  await expect(page.getByLabel('What the sessions do')).toHaveValue('queue');
});

test('the values of an axis can be generated from a start, an end and a step', async ({ page }) => {
  await edit(page, '/editor?scenario=first-look');
  const field = page.locator('[data-parameter=threads]');
  await field.getByText('From, to, step').click();
  await field.getByLabel('To', { exact: true }).fill('32');
  await field.getByRole('button', { name: 'Use 1, 2, 4, 8, 16, 32' }).click();
  await expect(page.getByLabel(threads)).toHaveValue('1, 2, 4, 8, 16, 32');
  await expect(page.getByRole('figure', { name: 'The largest point of the sweep' })).toContainText(
    '2 instances, 32 enqueuers and 32 dequeuers',
  );
});

test('the scenario of a run can be edited', async ({ page, request }) => {
  const run = readFileSync(new URL('./fixtures/figure-3.json', import.meta.url), 'utf8');
  const answer = await request.post('/api/runs/import', {
    data: run,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status()).toBe(201);
  await page.goto(`/runs/${(await answer.json()).id}`);
  await page.getByRole('link', { name: 'Edit and run' }).click();
  await expect(page.getByLabel('Title', { exact: true })).toHaveValue(/\(copy\)$/);
  await expect(state(page).getByRole('status')).toContainText('points');
});

test('the editor with a fault, in both themes, on a desktop and on a phone', async ({ page }) => {
  test.setTimeout(300_000);
  let errors: string[] = [];
  await expectReadableEverywhere(
    page,
    async () => {
      errors = await edit(page, '/editor?scenario=white-paper-figure-3');
      await page.getByLabel('Title', { exact: true }).fill('');
      await expect(state(page)).toContainText('Must not be empty');
    },
    () => expect(errors).toEqual([]),
  );
});
