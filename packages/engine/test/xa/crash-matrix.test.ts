/**
 * Every point of a distributed transaction × who crashes × a second crash in the recovery: the instances agree in all. The
 * points are all events of the transaction, so between any two steps of anyone.
 */
import { describe, expect, it } from 'vitest';
import { drawnSeed } from '../random.ts';
import { CrashRun, type CrashRunOptions, type PlantedBug, type Role } from './crash-run.ts';

/** Points that must have been met, or the matrix has a hole. */
const points = [
  'after one start',
  'after both starts',
  'after the work of out 1',
  'after the work of out 2',
  'before the prepares',
  'before the sync of a prepare',
  'between the prepares',
  'before the decision',
  'before the sync of the decision',
  'after the decision',
  'before the sync of a commit',
  'between the commits',
  'before the forget',
];

const crashing: Role[][] = [
  ['coordinator'],
  ['first'],
  ['second'],
  ['first', 'second'],
  ['coordinator', 'first'],
  ['coordinator', 'second'],
  ['coordinator', 'first', 'second'],
];

async function run(options: CrashRunOptions) {
  try {
    return await new CrashRun(options).run();
  } catch (error) {
    throw new Error(`${JSON.stringify(options)}: ${(error as Error).message}`, { cause: error });
  }
}

const none = Number.POSITIVE_INFINITY;
/** Seeds draw other delays of the disks, and so other orders of the same steps. `npm run torture` takes more. */
const seeds = Array.from({ length: drawnSeed === 1 ? 2 : 20 }, (_, index) => drawnSeed * 100 + index);

describe.each([
  ['with decisions of an instance of its own', false],
  ['with decisions of a participant', true],
])('a coordinator %s', (_where, shared) => {
  it('commits where nothing crashes', async () => {
    for (const seed of seeds)
      expect(await run({ seed, shared, roles: [], crashAt: none })).toMatchObject({ committed: true });
  });

  it.each(crashing.map((roles) => [roles.join(', '), roles] as const))(
    'and a crash of %s at any point, and again in the recovery: all or nothing',
    async (_who, roles) => {
      const met = new Map<string, Set<boolean>>();
      for (const seed of seeds) {
        const { events } = await run({ seed, shared, roles: [], crashAt: none });
        for (let crashAt = 0; crashAt <= events; crashAt += 1) {
          const { point, committed, recoveryEvents } = await run({ seed, shared, roles, crashAt });
          met.set(point, (met.get(point) ?? new Set()).add(committed));
          // Every third event of the recovery, another third for each point: all of them over the seeds.
          for (let crashAgainAt = (crashAt + seed) % 3; crashAgainAt < recoveryEvents; crashAgainAt += 3)
            await run({ seed, shared, roles, crashAt, crashAgainAt });
        }
      }
      for (const point of points) expect([...met.keys()], point).toContain(point);
      // A decision that is on disk is never undone, and one that is not was none.
      expect([...(met.get('between the commits') ?? [])]).toEqual([true]);
      expect([...(met.get('before the forget') ?? [])]).toEqual([true]);
      expect([...(met.get('after the work of out 1') ?? [])]).toEqual([false]);
    },
  );
});

describe('the matrix finds a planted bug', () => {
  it.each<[PlantedBug, Role[]]>([
    ['the decision is not written', ['coordinator', 'first']],
    ['a branch says that it is prepared before it is on disk', ['second']],
    ['a branch commits before the decision', ['coordinator', 'first']],
    ['recovery presumes a commit', ['coordinator', 'first']],
    ['a prepared branch is forgotten with its instance', ['first']],
    ['a commit leaves out the rows', ['coordinator']],
  ])('%s', async (bug, roles) => {
    const failures: string[] = [];
    for (const seed of seeds) {
      for (let crashAt = 0; crashAt < 60 && failures.length === 0; crashAt += 1)
        await run({ seed, roles, crashAt, bug }).catch((error: Error) => failures.push(error.message));
    }
    expect(failures).not.toEqual([]);
  });
});
