/** The file's side of a session that holds the writer: what is undone when the group fails that goes on in its transaction. */
import { expect, it, onTestFinished } from 'vitest';
import type { Group } from '../../src/storage/group-message.ts';
import { InstanceFile, instancePath } from '../../src/storage/instance-file.ts';
import { makeFolder } from '../folder.ts';

const empty: Group = {
  kind: 'group',
  no: 0,
  generation: 0,
  sync: 'FULL',
  buffer: new SharedArrayBuffer(16),
  blocks: [],
  deltas: [],
  outcomes: { offset: 0, length: 0, retired: 0 },
  side: [],
  sql: [],
  pool: { create: [], assign: [], truncate: [] },
};
const delta = { partition: 1, subscriber: 0, offset: 0, length: 0 };

function open(): InstanceFile {
  const file = new InstanceFile(instancePath(makeFolder(), 1));
  onTestFinished(() => file.close());
  file.recover();
  return file;
}

const query = (file: InstanceFile, sql: string) => {
  const { results, failure } = file.execute({ sql, parameters: [] });
  return failure === null ? results[0]!.rows : failure.code;
};
const commit = (file: InstanceFile, group: Partial<Group>) =>
  file.commit({ ...empty, ...group }, () => undefined);

it('what was executed is undone with the group that fails, and the next transaction begins anew', () => {
  const file = open();
  query(file, 'CREATE TABLE item (id INTEGER)');
  commit(file, { no: 1 });
  query(file, 'INSERT INTO item VALUES (1)');
  query(file, 'CREATE TABLE other (id INTEGER)');
  expect(() => commit(file, { no: 2, deltas: [delta, delta] })).toThrow(); // one row twice
  expect(query(file, 'SELECT * FROM item')).toEqual([]);
  expect(query(file, 'SELECT * FROM other')).toBe('SQL_INVALID');
  query(file, 'INSERT INTO item VALUES (2)');
  commit(file, { no: 3 });
  expect(query(file, 'SELECT * FROM item')).toEqual([{ id: 2 }]);
});

it('a relaxed group before a held one, and one after it, keep their own way to sync', () => {
  const file = open();
  commit(file, { no: 1, sync: 'NORMAL' });
  query(file, 'CREATE TABLE item (id INTEGER)');
  commit(file, { no: 2 });
  commit(file, { no: 3, sync: 'NORMAL' });
  query(file, 'INSERT INTO item VALUES (1)');
  file.release();
  file.release(); // nothing to undo
  commit(file, { no: 4, sync: 'NORMAL' });
  expect(query(file, 'SELECT * FROM item')).toEqual([]);
});
