import { describe, expect, it } from 'vitest';
import { nextOrder, readRunsSearch } from '../src/pages/runs/runs-search.ts';

describe('the address of the list of runs', () => {
  it('keeps valid orders and filters, and drops unknown ones', () => {
    const search = {
      text: 'disk',
      status: 'done',
      scale: 'full',
      origin: 'here',
      sort: 'title',
      order: 'asc',
    };
    expect(readRunsSearch(search)).toEqual(search);
    expect(
      readRunsSearch({ text: 7, status: 'lost', scale: 'half', origin: '', sort: 'size', order: 'up', x: 1 }),
    ).toEqual({});
  });

  it('sorts by a clicked column, then in the other direction, then not any more', () => {
    expect(nextOrder({}, 'title')).toEqual({ sort: 'title', order: 'asc' });
    expect(nextOrder({ sort: 'title', order: 'asc' }, 'title')).toEqual({ sort: 'title', order: 'desc' });
    expect(nextOrder({ sort: 'title', order: 'desc' }, 'title')).toEqual({});
    expect(nextOrder({ sort: 'title', order: 'desc' }, 'duration')).toEqual({
      sort: 'duration',
      order: 'desc',
    });
    expect(nextOrder({ sort: 'duration' }, 'duration')).toEqual({ sort: 'duration', order: 'asc' });
  });
});
