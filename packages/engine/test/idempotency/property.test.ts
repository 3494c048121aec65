/** Random commits under a few keys, alone and concurrently, some of which fail, and restarts, against a model that is a map. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Instance, openInstance, QueueError } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';

interface Attempt {
  key: number;
  content: number;
  /** Whether one of its statements fails. */
  fails: boolean;
}

type Command = { kind: 'commit'; attempts: Attempt[] } | { kind: 'reopen' };

const attempt = fc.record({
  key: fc.integer({ min: 0, max: 3 }),
  content: fc.integer({ min: 0, max: 1 }),
  fails: fc.boolean(),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      attempts: fc.array(attempt, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
);

/** By key, the content of its transaction and the ids that the commit returned. */
type Model = Map<number, { content: number; ids: string[] }>;

/** Failing attempts use keys of their own, which stay free. */
async function tryCommit(instance: Instance, { key, content, fails }: Attempt) {
  const session = instance.openSession();
  for (let index = 0; index <= content; index += 1) session.enqueue('q', { payload: `${key} ${content}` });
  session.execute(`INSERT INTO item SELECT '${fails ? 'taken' : key}' WHERE ${fails ? 1 : 0}`);
  try {
    const { ids, replayed } = await session.commit({ idempotencyKey: `key ${key} ${fails}` });
    return { ids, replayed };
  } catch (error) {
    if (error instanceof QueueError) return { code: error.code };
    throw error;
  } finally {
    await session.close();
  }
}

async function expectModel(instance: Instance, attempts: Attempt[], model: Model): Promise<void> {
  const answers = await Promise.all(attempts.map((each) => tryCommit(instance, each)));
  for (const [index, { key, content, fails }] of attempts.entries()) {
    const answer = answers[index]!;
    if (fails) {
      expect(answer).toEqual({ code: 'SQL_FAILED' });
      continue;
    }
    // Of several concurrent attempts the first is committed.
    const known = model.get(key);
    if (known === undefined) {
      expect(answer).toEqual({ ids: expect.any(Array), replayed: false });
      expect(answer.ids).toHaveLength(content + 1);
      model.set(key, { content, ids: answer.ids! });
    } else if (known.content === content) expect(answer).toEqual({ ids: known.ids, replayed: true });
    else expect(answer).toEqual({ code: 'IDEMPOTENCY_KEY_REUSED' });
  }
}

it('each key is committed once, across restarts', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25 }), async (commands) => {
      const dir = makeFolder();
      let instance = await openInstance({ dir });
      try {
        await instance.createQueue({ name: 'q', attemptsMax: null });
        const session = instance.openSession();
        session.execute('CREATE TABLE item (name TEXT UNIQUE)');
        session.execute("INSERT INTO item VALUES ('taken')");
        await session.commit();
        const model: Model = new Map();
        for (const each of commands) {
          if (each.kind === 'commit') await expectModel(instance, each.attempts, model);
          else {
            await instance.close();
            instance = await openInstance({ dir });
          }
        }
        const { messages } = await instance.browse('q', { limit: 100 });
        const expected = [...model].flatMap(([key, { content, ids }]) =>
          ids.map((id) => [id, `${key} ${content}`]),
        );
        const found = messages.map(({ id, payload }) => [id, payload.toString()]);
        expect(found.sort()).toEqual(expected.sort());
      } finally {
        await instance.close();
      }
    }),
    { numRuns: isTorture ? 15 : 5 },
  );
});
