import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { ApiError } from '../src/api/client.ts';
import { FailedPage } from '../src/pages/failed/failed-page.tsx';

const shown = (error: unknown) =>
  renderToStaticMarkup(createElement(FailedPage, { error: error as Error, reset: () => undefined }));

test('a page that throws has a sentence, what was thrown, and ways on', () => {
  for (const [error, words] of [
    [new RangeError('Invalid time value'), 'RangeError: Invalid time value'],
    [
      new ApiError(404, { code: 'RUN_NOT_FOUND', message: 'No such run', retryable: false }),
      'RUN_NOT_FOUND: No such run',
    ],
    ['thrown text', 'Error: thrown text'],
  ] as const) {
    const html = shown(error);
    expect(html).toContain('This page cannot be shown');
    expect(html).toContain(words);
    expect(html).toContain('Try again');
    expect(html).toContain('href="/"');
  }
});
