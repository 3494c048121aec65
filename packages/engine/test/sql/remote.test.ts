/** Statements of a session in another process, and of a session over a whole cluster. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectCluster, startCluster } from '../../src/index.ts';
import { makeFolder, openTestClient, text } from '../folder.ts';
import { connectTo, serve } from '../remote/serving.ts';
import { makeUnreliableLink } from '../remote/unreliable-link.ts';
import { code, openApplication, run } from './application.ts';

describe('statements of a remote session', () => {
  it('commit with its messages, and return the same results as those of an embedded session', async () => {
    const { instance } = await openApplication();
    const session = (await openTestClient(instance)).openSession();
    session.enqueue('q', { payload: 'a' });
    session.execute('INSERT INTO item (name, stock) VALUES (:name, :stock) RETURNING *', {
      name: 'nut',
      stock: 2n ** 60n,
    });
    session.execute('SELECT ? AS bytes, ? AS real, ? AS big, ? AS none', [
      Uint8Array.of(0, 255),
      Number.NEGATIVE_INFINITY,
      1e300,
      null,
    ]);
    const { ids, results } = await session.commit();
    expect(ids).toHaveLength(1);
    expect(results[0]).toEqual({
      rows: [{ id: 1, name: 'nut', stock: 2n ** 60n }],
      changes: 1,
      lastInsertRowid: 1,
    });
    const row = results[1]!.rows[0]!;
    expect(row).toMatchObject({ real: Number.NEGATIVE_INFINITY, big: 1e300, none: null });
    expect([...(row.bytes as Uint8Array)]).toEqual([0, 255]);
    expect(text(await session.dequeue('q'))).toEqual(['a']);
  });

  it('fail like those of an embedded session, and change nothing', async () => {
    const { instance } = await openApplication();
    const session = (await openTestClient(instance)).openSession();
    session.enqueue('q', { payload: 'a' });
    session.execute('INSERT INTO item (stock) VALUES (-1)');
    await expect(session.commit()).rejects.toThrow(code('SQL_FAILED', { statement: 0 }));
    expect(() => session.execute('PRAGMA foreign_keys = OFF')).toThrow(code('SQL_REFUSED'));
    session.execute('SELECT * FROM meta');
    await expect(session.commit()).rejects.toThrow(code('SQL_REFUSED'));
    expect(instance.queue('q')).toMatchObject({ enqueued: 0 });
  });

  it('whose commit was answered on a lost connection are executed once, and only their results are lost', async () => {
    const { instance } = await openApplication();
    const link = await makeUnreliableLink((await serve(instance)).path);
    const session = (await connectTo(link.path)).openSession();
    for (const stock of [1, -1]) {
      session.enqueue('q', { payload: `${stock}` });
      session.execute('INSERT INTO item (stock) VALUES (?)', [stock]);
      link.loseAnswers();
      const commit = session.commit();
      await link.lost();
      link.cut();
      if (stock < 0) await expect(commit).rejects.toThrow(code('TX_NOT_COMMITTED'));
      else {
        const committed = await commit;
        expect(committed.ids).toHaveLength(1);
        expect(() => committed.results).toThrow(code('SQL_RESULTS_LOST'));
      }
    }
    expect(await run(session, 'SELECT stock FROM item')).toMatchObject({ rows: [{ stock: 1 }] });
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['1']);
  });

  it('let their session continue whether they fail or succeed', async () => {
    const { instance } = await openApplication();
    const client = await openTestClient(instance);
    const sessions = [1, -1, 2, -1].map((stock) => {
      const session = client.openSession();
      session.enqueue('q', { payload: `${stock}` });
      session.execute('INSERT INTO item (stock) VALUES (?)', [stock]);
      return session;
    });
    const ended = await Promise.allSettled(sessions.map((session) => session.commit()));
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    for (const session of sessions) {
      session.enqueue('q', { payload: 'again' });
      expect((await session.commit()).ids).toHaveLength(1);
    }
  });
});

describe('statements of a session over a cluster', () => {
  it('are sent to the SQL instance, which cannot be removed', { timeout: 60_000 }, async () => {
    const dir = makeFolder();
    const cluster = await startCluster({ dir, instances: 2 });
    onTestFinished(() => cluster.close());
    const client = connectCluster({ dir });
    onTestFinished(() => client.close());
    await client.createQueue({ name: 'q' });
    for (let index = 0; index < 3; index += 1) {
      const session = client.openSession();
      session.execute('CREATE TABLE IF NOT EXISTS item (number INTEGER)');
      session.enqueue('q', { payload: `${index}` });
      session.execute('INSERT INTO item VALUES (?)', [index]);
      await session.commit();
    }
    expect((await run(client.openSession(), 'SELECT count(*) AS items FROM item')).rows).toEqual([
      { items: 3 },
    ]);
    expect((await client.queue('q')).ready).toBe(3);
    await expect(cluster.remove(1)).rejects.toThrow(code('INSTANCE_IS_HOME', { instance: 1 }));
  });
});
