/** Every page, in both themes, on a desktop and on a phone: it is accessible, and nothing is cut off at any width. */
import { errorsIn, expect, test } from './journey.ts';
import { furnish, open, pages, routesOf } from './pages.ts';
import { expectReadableEverywhere } from './readable.ts';
import { expectWholeAtAllWidths } from './whole.ts';

test('the list of pages has every path of the router', async ({ page }) => {
  await open(page, '/');
  // Without a key the login page redirects at once, so it is tested by login.spec.ts with a key.
  const listed = new Set(['/login', ...pages.flatMap(({ route }) => route ?? [])]);
  expect([...listed].sort()).toEqual((await routesOf(page)).sort());
});

// This file takes longest, so both workers share its tests.
test.describe.configure({ mode: 'parallel' });

for (const { name, address } of pages) {
  test(`${name} in both themes, on a desktop and on a phone, with nothing cut off at any width`, async ({
    visitor,
    request,
  }) => {
    test.setTimeout(300_000);
    const ids = await furnish(request);
    const { errors, end } = errorsIn(visitor);
    await expectReadableEverywhere(
      visitor,
      () => open(visitor, address(ids)),
      () => expect(errors, 'errors in the page').toEqual([]),
    );
    await test.step('from 390 to 2560 px wide', () => expectWholeAtAllWidths(visitor));
    end();
  });
}

test('the check of layouts finds a page that is too wide or cuts off a number', async ({ page }) => {
  const parts = {
    wide: '<div style="width: 3000px">wide</div>',
    number:
      '<div style="width: 20px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap">12,345 messages</div>',
    words: '<div style="height: 5px; overflow: hidden">half a line</div>',
    drawn: '<svg width="40" height="20"><text x="30" y="15">1.5 ms</text></svg>',
    field: '<input value="1234567890" style="width: 30px">',
  };
  for (const [name, part] of Object.entries(parts)) {
    await page.setContent(part);
    await expect(expectWholeAtAllWidths(page), name).rejects.toThrow('wider than the screen, or cut off');
  }
  await page.setContent(
    '<div style="width: 60px; overflow: auto">12,345 messages in a box that scrolls, 98,765 in all</div>',
  );
  await expectWholeAtAllWidths(page);
});

test('the check of colours finds a text with too little contrast, in the theme and at the size that show it', async ({
  page,
}) => {
  const pageWith = (style: string) => async () =>
    page.setContent(
      `<html lang="en"><title>A page</title><style>p { color: black; background: white } ${style}</style>` +
        '<main><h1>A page</h1><p>a text</p><div><p>a text</p></div>' +
        '<section><p>a text</p></section><p class="other">another text</p></main></html>',
    );
  await expectReadableEverywhere(page, pageWith(''));
  for (const style of [
    '.other { color: silver }',
    'section { background: #333; } section p { background: none }',
    'section { opacity: 0.3 }',
    '@media (prefers-color-scheme: dark) { .other { color: silver } }',
    '.other { color: silver } @media (max-width: 600px) { .other { display: none } }',
    '@media (prefers-color-scheme: dark) { .other { color: silver } } @media (max-width: 600px) { .other { display: none } }',
  ])
    await expect(expectReadableEverywhere(page, pageWith(style)), style).rejects.toThrow('color-contrast');
});
