/** Every page, in both themes, on a desktop and on a phone: readable by a screen reader, never wider than the screen, no number cut off. */
import { errorsIn, expect, test } from './journey.ts';
import { furnish, open, pages, routesOf } from './pages.ts';
import { expectReadable, expectWholeAtAllWidths, showIn, sizes, themes } from './readable.ts';

test('the list of pages has every path of the router', async ({ page }) => {
  await open(page, '/');
  const listed = new Set(pages.flatMap(({ route }) => route ?? []));
  expect([...listed].sort()).toEqual((await routesOf(page)).sort());
});

// The longest of all files: both workers take a part.
test.describe.configure({ mode: 'parallel' });

for (const { name, address } of pages) {
  test(`${name} in both themes, on a desktop and on a phone, whole at each width`, async ({
    visitor,
    request,
  }) => {
    test.setTimeout(300_000);
    const ids = await furnish(request);
    const { errors, end } = errorsIn(visitor);
    for (const size of sizes) {
      await showIn(visitor, themes[0], size);
      await open(visitor, address(ids));
      for (const theme of themes) {
        await test.step(`in ${theme} on a ${size}`, async () => {
          await showIn(visitor, theme, size);
          await expectReadable(visitor, theme);
          expect(errors, 'errors in the page').toEqual([]);
        });
      }
    }
    await test.step('from 390 to 2560 px wide', () => expectWholeAtAllWidths(visitor));
    end();
  });
}
