/** Every page, in both themes, on a desktop and on a phone: readable by a screen reader, never wider than the screen. */
import { errorsIn, expect, test } from './journey.ts';
import { furnish, open, pages, routesOf } from './pages.ts';
import { expectReadableEverywhere } from './readable.ts';

test('the list of pages has every path of the router', async ({ page }) => {
  await open(page, '/');
  const listed = new Set(pages.flatMap(({ route }) => route ?? []));
  expect([...listed].sort()).toEqual((await routesOf(page)).sort());
});

// The longest of all files: both workers take a part.
test.describe.configure({ mode: 'parallel' });

for (const { name, address } of pages) {
  test(`${name} in both themes, on a desktop and on a phone`, async ({ visitor, request }) => {
    test.setTimeout(300_000);
    const ids = await furnish(request);
    const { errors, end } = errorsIn(visitor);
    await expectReadableEverywhere(
      visitor,
      () => open(visitor, address(ids)),
      () => expect(errors, 'errors in the page').toEqual([]),
    );
    end();
  });
}
