/** What pages show of runs when one ends, and when some cannot be read. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { claimsQuery, measuredWorkloadsQuery, studiesQuery } from '../src/api/queries.ts';
import { refreshAtEnds } from '../src/api/refresh-at-ends.ts';
import { HistoryNotices } from '../src/pages/runs/history-notices.tsx';

describe('verdicts and measurements', () => {
  function refreshed(before: string[], now: string[]) {
    const client = new QueryClient();
    const asked = [claimsQuery, measuredWorkloadsQuery, studiesQuery].map(({ queryKey }) => queryKey);
    for (const key of asked) client.setQueryData<unknown>(key, {});
    refreshAtEnds(client, { before, now });
    return asked.map((key) => client.getQueryState(key)?.isInvalidated);
  }

  it('are asked for again when a run has ended', () => {
    expect(refreshed(['a', 'b'], ['b'])).toEqual([true, true, false]);
  });

  it('are not asked for again while runs go on or begin', () => {
    expect(refreshed(['a'], ['a', 'b'])).toEqual([false, false, false]);
    expect(refreshed([], ['a'])).toEqual([false, false, false]);
  });
});

describe('the notices of the history', () => {
  const render = (...pages: Parameters<typeof HistoryNotices>[0]['pages'][number][]) =>
    renderToStaticMarkup(
      createElement(
        QueryClientProvider,
        { client: new QueryClient() },
        createElement(HistoryNotices, { pages }),
      ),
    );
  const page = { runs: [], next: null };

  it('name a file that was set aside, and each run that cannot be read', () => {
    const damaged = [{ id: '0c921a64-b63a-4777-992a-fb331fe3d61d', damage: 'its column claims is not JSON' }];
    const markup = render({ ...page, notices: ['lab.db.damaged-1 is a run history'] }, { ...page, damaged });
    expect(markup).toContain('lab.db.damaged-1 is a run history.');
    expect(markup).toContain('The run 0c921a64 cannot be read: its column claims is not JSON.');
    expect(markup).toContain('>Delete run 0c921a64</button>');
  });

  it('are not there if all is well', () => {
    expect(render(page, page)).toBe('');
  });
});
