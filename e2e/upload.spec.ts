/** Scenarios of users: a valid one is added, an invalid one is refused with each fault at its path. */
import type { Page } from '@playwright/test';
import { type Document, expect, scenarioFile, test } from './journey.ts';

function choose(page: Page, name: string, content: string) {
  const buffer = Buffer.from(content);
  return page.getByLabel('Choose a file').setInputFiles({ name, mimeType: 'application/json', buffer });
}

function own(change: Document): string {
  return JSON.stringify(
    { ...scenarioFile('first-look'), id: 'of-my-own', title: 'A scenario of my own', ...change },
    null,
    2,
  );
}

test('a valid scenario is added to the user’s own, and can be opened and deleted', async ({ page }) => {
  await page.goto('/');
  await choose(page, 'mine.json', own({}));
  const card = page.getByRole('article', { name: 'A scenario of my own' });
  await expect(card).toBeVisible();
  await expect(card).toContainText('Uploaded');

  await card.getByRole('link', { name: 'A scenario of my own' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'A scenario of my own' })).toBeVisible();
  await page.getByRole('button', { name: 'Delete this scenario' }).click();
  await expect(page.getByRole('heading', { name: 'Your workload' })).toBeVisible();
  await expect(card).toHaveCount(0);
});

test('a scenario can be dropped on the page', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Your workload' })).toBeVisible();
  const files = await page.evaluateHandle(
    (text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], 'dropped.json', { type: 'application/json' }));
      return transfer;
    },
    own({ id: 'dropped', title: 'A dropped scenario' }),
  );
  await page.dispatchEvent('body', 'dragover', { dataTransfer: files });
  await expect(page.getByText('Drop to add the scenario')).toBeVisible();
  await page.dispatchEvent('body', 'drop', { dataTransfer: files });
  await expect(page.getByRole('article', { name: 'A dropped scenario' })).toBeVisible();
});

const { parameters } = scenarioFile('first-look') as { parameters: Document };
const bad: { what: string; text: string; faults: [path: string, message: RegExp][] }[] = [
  {
    what: 'a billion threads and an unknown field',
    text: own({ sweep: { instances: [1], threads: [1_000_000_000] }, colour: 'red' }),
    faults: [
      ['/sweep/threads/0', /256/],
      ['/colour', /unknown|not/i],
    ],
  },
  {
    what: 'wrong types',
    text: own({ seed: 'one', parameters: { ...parameters, payloadBytes: '512' } }),
    faults: [
      ['/seed', /integer|number/],
      ['/parameters/payloadBytes', /integer|number/],
    ],
  },
  { what: 'no JSON', text: '{\n  "version": 1,\n  oops\n}', faults: [['whole document', /JSON/]] },
];

for (const { what, text, faults } of bad) {
  test(`an invalid scenario is refused with the path of the fault: ${what}`, async ({ page }) => {
    await page.goto('/');
    await choose(page, 'bad.json', text);
    const shown = page.getByRole('alert', { name: 'Errors in the scenario' });
    await expect(shown.getByRole('heading')).toContainText('bad.json was not added');
    await expect(shown.getByRole('listitem')).toHaveCount(faults.length);
    for (const [path, message] of faults) {
      const fault = shown.getByRole('listitem').filter({ hasText: path });
      await expect(fault).toHaveCount(1);
      await expect(fault).toContainText(message);
    }
    await expect(page.getByRole('article', { name: 'A scenario of my own' })).toHaveCount(0);
  });
}

test('a scenario of version 1 is refused with its translation, which can be added', async ({ page }) => {
  await page.goto('/');
  const {
    program: _program,
    parameters: _parameters,
    systems,
    sweep,
    ...rest
  } = scenarioFile('first-look') as Record<string, Document>;
  const old = {
    ...rest,
    version: 1,
    id: 'of-old',
    title: 'A scenario of old',
    queue: { durability: 'durable', shardsPerInstance: 1 },
    workload: { payloadBytes: 512, operationsPerTransaction: 10, backlogMax: 20_000 },
    sweep: { implementation: systems, ...sweep, roundTripMs: [0] },
  };
  await choose(page, 'old.json', JSON.stringify(old));
  const shown = page.getByRole('alert', { name: 'Errors in the scenario' });
  await expect(shown.getByRole('listitem')).toContainText('Version 1 is no longer read');
  await shown.getByRole('button', { name: 'Add this one' }).click();
  await expect(page.getByRole('article', { name: 'A scenario of old' })).toBeVisible();
});

test('a file larger than any scenario is refused before it is sent', async ({ page }) => {
  await page.goto('/');
  await choose(page, 'film.json', own({ question: 'x'.repeat(300 * 1024) }));
  await expect(page.getByRole('alert')).toContainText(
    /film\.json is too large for a scenario: \d+ KiB \(limit 256 KiB\)/,
  );
});
