/** The list of runs: its orders, filters and pages. */
import type { Run, RunLabels, RunList } from '@shardlab/contract';
import { runSorts } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { beforeAll, describe, expect, it } from 'vitest';
import { shareApp, smallScenario } from './start-app.ts';

const app = shareApp();
const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

/** The runs, in the order in which they are added. The second has no duration; the fourth and the fifth differ only in their names. */
const runs: { title: string; change: Partial<Run>; name?: string }[] = [
  { title: 'Pears', change: { startedAtMs: 5_000, endedAtMs: 6_000 } },
  { title: 'apples', change: { status: 'cancelled', createdAtMs: 9_000, startedAtMs: null } },
  { title: 'Plums', change: { status: 'failed', startedAtMs: 2_000, endedAtMs: 12_000, scale: 'full' } },
  { title: 'Zucchini', change: { startedAtMs: 3_000, endedAtMs: 5_000 }, name: 'Berries 50 % ünïcode' },
  { title: 'Zucchini', change: { startedAtMs: 3_000, endedAtMs: 5_000 } },
];

beforeAll(async () => {
  for (const [index, { title, change, name }] of runs.entries()) {
    const id = idOf(index + 1);
    const scenario = smallScenario({ id: `list-${title.toLowerCase()}`, title });
    const run: Run = {
      ...newRun({ id, scenario, scale: 'quick', createdAtMs: 1_000 }),
      status: 'done',
      ...change,
    };
    expect((await app().post('/api/runs/import', run)).status).toBe(201);
    const labels: RunLabels = { name: name ?? '', note: '', baseline: false };
    expect((await app().put(`/api/runs/${id}/labels`, labels)).status).toBe(200);
  }
});

const get = (query: string) => app().get<RunList>(`/api/runs?${query}`);
/** The last digit of each run's id. */
const digits = ({ runs: listed }: RunList) => listed.map(({ id }) => Number(id.at(-1)));
const order = async (query: string) => digits((await get(query)).body);

describe('the list of runs', () => {
  it.each([
    ['', [5, 4, 3, 2, 1]],
    ['order=asc', [1, 2, 3, 4, 5]],
    ['sort=added&order=desc', [5, 4, 3, 2, 1]],
    ['sort=started', [2, 1, 5, 4, 3]],
    ['sort=started&order=asc', [3, 4, 5, 1, 2]],
    ['sort=title&order=asc', [2, 4, 1, 3, 5]],
    ['sort=title', [5, 3, 1, 4, 2]],
    ['sort=duration', [3, 5, 4, 1, 2]],
    ['sort=duration&order=asc', [1, 4, 5, 3, 2]],
    ['sort=scale&order=asc', [3, 1, 2, 4, 5]],
    ['sort=status', [3, 5, 4, 1, 2]],
  ])('is ordered as %j asks', async (query, expected) => {
    expect(await order(query)).toEqual(expected);
  });

  it.each([
    ['status=done', [5, 4, 1]],
    ['scale=full', [3]],
    ['scenario=list-zucchini', [5, 4]],
    ['scenario=list-zucchini&text=berries', [4]],
    ['origin=imported&status=failed', [3]],
    ['origin=here', []],
    ['status=running', []],
  ])('has only the runs that %j asks for', async (query, expected) => {
    expect(await order(query)).toEqual(expected);
  });

  it('has the same runs in pages as in one answer, in every order', async () => {
    for (const sort of runSorts) {
      for (const direction of ['asc', 'desc']) {
        const query = `sort=${sort}&order=${direction}`;
        const paged: number[] = [];
        let next: string | null = null;
        do {
          const { body }: { body: RunList } = await get(
            `${query}&limit=2${next === null ? '' : `&after=${next}`}`,
          );
          expect(body.runs.length).toBeLessThanOrEqual(2);
          paged.push(...digits(body));
          next = body.next;
        } while (next !== null);
        expect([query, paged]).toEqual([query, await order(query)]);
      }
    }
  });

  it('continues after a run that was deleted between two pages', async () => {
    const id = idOf(6);
    const scenario = smallScenario({ id: 'list-quinces', title: 'Quinces' });
    const run = { ...newRun({ id, scenario, scale: 'quick', createdAtMs: 1 }), status: 'done' };
    await app().post('/api/runs/import', run);
    const first = await get('sort=title&order=asc&limit=5');
    expect(digits(first.body)).toEqual([2, 4, 1, 3, 6]);
    expect((await app().remove(`/api/runs/${id}`)).status).toBe(204);
    expect(await order(`sort=title&order=asc&after=${first.body.next}`)).toEqual([5]);
  });

  it('refuses an unknown order, filter or page', async () => {
    for (const query of ['sort=size', 'order=up', 'status=lost', 'scale=half', 'origin=there', 'after=x.y'])
      expect([query, (await get(query)).status]).toEqual([query, 400]);
  });
});
