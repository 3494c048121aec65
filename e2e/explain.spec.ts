/** Where the time of runs goes, and how runs compare. The runs were exported once and are imported. */
import type { APIRequestContext, Locator, Page } from '@playwright/test';
import { importRun, pointsWithHolders, pointsWithLives, saveReport, textOf } from './imported.ts';
import { errorsIn, expect, test } from './journey.ts';
import { expectReadable, expectReadableEverywhere, showIn, themes } from './readable.ts';

interface ShownPage {
  name: string;
  address(request: APIRequestContext): Promise<string>;
  /** The element that appears last when the page has loaded; default: the button below the charts. */
  last?(page: Page): Locator;
}

const pages: ShownPage[] = [
  { name: 'explain', address: async (request) => `/runs/${await importRun(request, 'figure-3')}/explain` },
  {
    name: 'explain-holders',
    // The run has the points of one queue only, so that the point at which most sessions wait has holders.
    address: async (request) => {
      const points = pointsWithHolders().filter(({ system }) => system === 'unsharded');
      return `/runs/${await importRun(request, 'figure-3', { points })}/explain?event=write+lock`;
    },
    last: (page) => page.getByRole('figure', { name: 'Holder and waiters: write lock' }),
  },
  {
    name: 'explain-pairs',
    address: async (request) => `/runs/${await importRun(request, 'listen-pairs')}/explain`,
  },
  {
    name: 'explain-herd',
    address: async (request) => `/runs/${await importRun(request, 'listen-herd')}/explain`,
  },
  {
    name: 'explain-methods',
    address: async (request) => `/runs/${await importRun(request, 'listen-against-subscriber')}/explain`,
  },
  {
    name: 'explain-copies',
    address: async (request) => `/runs/${await importRun(request, 'listen-hot-copies')}/explain`,
  },
  {
    name: 'explain-xa',
    address: async (request) => `/runs/${await importRun(request, 'xa-branches')}/explain`,
  },
  {
    name: 'run-lives',
    address: async (request) =>
      `/runs/${await importRun(request, 'figure-3', { points: pointsWithLives() })}`,
    last: (page) => page.getByRole('list', { name: 'Events, oldest first' }),
  },
  {
    name: 'compare',
    address: async (request) => {
      const runs = [
        await importRun(request, 'figure-3'),
        await importRun(request, 'figure-3', { scale: 'full' }),
      ];
      return `/compare?runs=${encodeURIComponent(JSON.stringify(runs))}`;
    },
  },
];

test.describe.configure({ mode: 'parallel' });

for (const { name, address, last = saveReport } of pages) {
  test(`${name} in both themes, on a desktop and on a phone`, async ({ visitor, request }) => {
    const { errors, end } = errorsIn(visitor);
    const url = await address(request);
    await expectReadableEverywhere(
      visitor,
      async () => {
        await visitor.goto(url);
        await expect(last(visitor)).toBeVisible();
      },
      () => expect(errors, 'errors in the page').toEqual([]),
    );
    end();
  });
}

test('a run without a time series shows its trace, its figure and its sessions', async ({
  page,
  request,
}) => {
  await page.goto(`/runs/${await importRun(request, 'listen-herd')}`);
  const herd = page.getByRole('figure', { name: 'One message, and all who woke for it' });
  await expect(herd).toContainText('16 sessions; time from the post');
  const cursor = page.getByRole('slider', { name: 'Sessions that woke over sessions that listen: cursor' });
  await cursor.press('Home');
  await cursor.press('ArrowRight');
  await cursor.press('Enter');
  await expect(herd).toContainText('4 sessions; time from the post');
  for (const name of ['Over time', 'Topology'])
    await expect(page.getByRole('heading', { name, exact: true })).toHaveCount(0);
  await page.goto(`/runs/${await importRun(request, 'listen-pairs')}`);
  await expect(page.getByRole('figure', { name: 'Active sessions by wait event' })).toBeVisible();
  for (const theme of themes) {
    await showIn(page, theme, 'desktop');
    await expectReadable(page, theme);
  }
});

test('a bar is chosen by keyboard, explained, and compared with another; links keep the choice', async ({
  page,
  request,
}) => {
  const run = await importRun(request, 'figure-3');
  await page.goto(`/runs/${run}`);
  await page.getByRole('link', { name: 'Explain', exact: true }).click();
  // The heading is awaited first, since the run page has a chart of the same name.
  await expect(page.getByRole('heading', { name: 'Where the time goes' })).toBeVisible();
  const cursor = page.getByRole('slider', { name: 'Active sessions by wait event: cursor' });
  await cursor.press('Home');
  await expect(cursor).toHaveAttribute('aria-valuetext', /^sharded, 1 thread: /);
  await cursor.press('End');
  await cursor.press('Enter');
  await expect(page.getByRole('heading', { name: 'grouped unsharded, 32 threads' })).toBeVisible();
  await page.getByRole('button', { name: 'write lock' }).click();
  await expect(page.getByRole('heading', { name: 'Durations of write lock' })).toBeVisible();
  const helps = page.getByRole('region', { name: 'What would help: write lock' });
  await expect(helps.getByRole('link', { name: /^What if: Ten times as many messages/ })).toHaveAttribute(
    'href',
    new RegExp(`operations=100.*threads=32.*run=.*${run}`),
  );
  await page.getByLabel('From').selectOption({ label: 'sharded, 32 threads' });
  const change = page.getByRole('slider', { name: 'Time of a message, from one point to the other: cursor' });
  await expect(change).toHaveAttribute('aria-valuetext', /: [+−]/);
  await page.getByText('Time a message', { exact: true }).click();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'grouped unsharded, 32 threads' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Time of a message by wait event' })).toBeVisible();
  await expect(change).toBeVisible();
  await helps.getByRole('link', { name: /^What if: Ten times/ }).click();
  await expect(page).toHaveURL(/\/what-if\?.*operations=100/);
  const answer = page.getByRole('region', { name: 'Answer of the model' });
  await expect(answer).toContainText('Answers for 32 threads');
  await expect(answer.getByText('at 32 threads')).toHaveCount(2);
  await answer.getByRole('button', { name: 'Answer for the best number' }).click();
  await expect(page).not.toHaveURL(/threads=/);
});

test('holders of the write lock and waiting sessions are shown over time, if they were recorded', async ({
  page,
  request,
}) => {
  const run = await importRun(request, 'figure-3', { points: pointsWithHolders() });
  await page.goto(`/runs/${run}/explain`);
  const bars = page.getByRole('slider', { name: 'Active sessions by wait event: cursor' });
  await bars.press('End');
  await bars.press('Enter');
  await expect(page.getByRole('heading', { name: 'grouped unsharded, 32 threads' })).toBeVisible();
  await page.getByRole('button', { name: 'write lock', exact: true }).click();
  await expect(page.getByText('The holders and waiters of “write lock”')).toContainText('were not recorded');
  for (let step = 0; !(await bars.getAttribute('aria-valuetext'))!.startsWith('unsharded, '); step += 1) {
    expect(step).toBeLessThan(20);
    await bars.press('ArrowLeft');
  }
  await bars.press('Enter');
  await expect(page.getByRole('heading', { name: /^unsharded, \d+ threads$/ })).toBeVisible();
  await page.getByRole('button', { name: 'write lock', exact: true }).click();
  const chart = page.getByRole('figure', { name: 'Holder and waiters: write lock' });
  await expect(chart).toContainText('all instances; time from the start of the measured window');
  await expect(chart.locator('.chart-readout')).toHaveText(
    /^In .* % of \d+ samples a holder was seen\. A median of \d+ sessions waited, at most \d+\. It was held [\d,]+ times, for .* on average\.$/,
  );
  const cursor = page.getByRole('slider', { name: 'Holder and waiters: write lock: cursor' });
  await cursor.press('Home');
  await cursor.press('ArrowRight');
  await expect(cursor).toHaveAttribute(
    'aria-valuetext',
    / after the start of the window: (nobody|(en|de)queuer \d+\.\d+) has it, \d+ waits?\.$/,
  );
  await chart.getByRole('button', { name: 'Table' }).click();
  await expect(chart.getByRole('columnheader', { name: 'Who waits' })).toBeVisible();
  await chart.getByRole('button', { name: 'Save: Holder and waiters: write lock' }).click();
  const [csv] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV data' }).click(),
  ]);
  expect(await textOf(csv)).toMatch(
    /^Time \(ms\),Holder,Waiters,Who waits,Provenance\r\n0,.*,"Shardlab, white-paper-figure-3: measured, .*"\r\n/,
  );
});

test('a run of branches shows one transaction call by call, and the waits of each session next to those of the document', async ({
  page,
  request,
}) => {
  await page.goto(`/runs/${await importRun(request, 'xa-branches')}/explain`);
  const cursor = page.getByRole('slider', { name: 'Active sessions by wait event: cursor' });
  await cursor.press('End');
  await cursor.press('Enter');
  await expect(page.getByRole('heading', { name: /two branches in two phases, 2 instances$/ })).toBeVisible();
  await expect(page.getByRole('figure', { name: 'One transaction, call by call' })).toBeVisible();
  const waits = page.getByRole('region', { name: 'What each session waited for' });
  const home = waits.getByRole('article', { name: 'Here: session 1 on instance 1' });
  await expect(home).toContainText(
    /60 transactions in .* 300 round trips\. CPU .* of the client and engine\./,
  );
  await expect(home).toContainText('CPU, named waits and waiting for a thread explain 99.8 %.');
  await expect(home.getByRole('row', { name: /^log file sync emulated 120 / })).toBeVisible();
  const other = waits.getByRole('article', { name: 'Here: session 2 on instance 2' });
  await expect(
    other.getByRole('row', { name: /^global transaction lock emulated in Oracle: DFS lock handle 240 / }),
  ).toBeVisible();
  const document = waits.getByRole('article', { name: /^In the document, one session: C5: / });
  await expect(document).toContainText(/4,507 round trips\. CPU .* of its server process\./);
  await expect(document.getByRole('row', { name: /^DFS lock handle 2,550 / })).toBeVisible();
});

test('a run of both ways to dequeue shows their top events next to those of the document, and one number of copies at a time', async ({
  page,
  request,
}) => {
  await page.goto(`/runs/${await importRun(request, 'listen-against-subscriber')}/explain`);
  const methods = page.getByRole('region', { name: /^Top events, 80 \+ 80 sessions$/ });
  const listen = methods.getByRole('article', { name: 'Listen' });
  await expect(listen.getByText(/^Here: 80 \+ 80 sessions, 5\d(\.\d)?\ss in all repeats$/)).toBeVisible();
  await expect(listen.getByText('In the document: 80 + 80 sessions, ten minutes')).toBeVisible();
  await expect(
    methods.getByRole('article', { name: 'Dequeue by subscriber' }).getByRole('table'),
  ).toHaveCount(2);
  await page.goto(`/runs/${await importRun(request, 'listen-hot-copies')}/explain`);
  await expect(page.getByRole('heading', { name: /^Top events, 32 \+ 32 sessions/ })).toBeVisible();
});

test('a run shows the traces of some of its messages, event by event since the enqueue', async ({
  page,
  request,
}) => {
  const id = await importRun(request, 'figure-3', { points: pointsWithLives() });
  await page.goto(`/runs/${id}`);
  const section = page.getByRole('region', { name: 'One message’s life' });
  await expect(section.getByText(/^The slowest of \d messages took/)).toBeVisible();
  const events = section.getByRole('list', { name: 'Events, oldest first' }).getByRole('listitem');
  await expect(events.first()).toContainText(/^0.*Enqueued by session/);
  const chosen = section.getByRole('combobox', { name: 'Message' });
  await chosen.selectOption({
    label: (await chosen.getByRole('option', { name: /^Fastest/ }).textContent())!,
  });
  await expect(events.filter({ hasText: 'Consumed in group' })).toHaveCount(1);
  const message = await section.getByRole('heading', { name: /^Message/ }).textContent();
  await page.reload();
  await expect(section.getByRole('heading', { name: message! })).toBeVisible();
  await expect(chosen.locator('option:checked')).toHaveText(/^Fastest/);
});
