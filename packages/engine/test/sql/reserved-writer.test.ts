/** The instance file while a session has reserved the writer: a failed group undoes the statements before it. */
import { expect, it, onTestFinished } from 'vitest';
import type { Group } from '../../src/model/group-message.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { InstanceFile, instanceFilePath } from '../../src/storage/instance-file/instance-file.ts';
import { makeFolder } from '../folder.ts';

const empty: Group = {
  kind: 'group',
  groupNumber: 0,
  generation: 0,
  sync: 'FULL',
  buffer: new SharedArrayBuffer(16),
  blocks: [],
  consumptionDeltas: [],
  outcomes: { offset: 0, length: 0, retiredThroughGroup: 0 },
  tableWrites: [],
  sqlTransactions: [],
  poolChanges: { create: [], assign: [], truncate: [] },
};
const delta = { partition: 1, subscriber: 0, offset: 0, length: 0 };

function open(): InstanceFile {
  const file = new InstanceFile(instanceFilePath(makeFolder(), 1), nodePorts.clock);
  onTestFinished(() => file.close());
  file.recover();
  return file;
}

const query = (file: InstanceFile, sql: string) => {
  const { results, failure } = file.executeStatement({ sql, parameters: [] });
  return failure === null ? results[0]!.rows : failure.code;
};
const commit = (file: InstanceFile, group: Partial<Group>) => file.commit({ ...empty, ...group });

it('executed statements are undone with the failed group, and not committed by the next one', () => {
  const file = open();
  query(file, 'CREATE TABLE item (id INTEGER)');
  commit(file, { groupNumber: 1 });
  query(file, 'INSERT INTO item VALUES (1)');
  query(file, 'CREATE TABLE other (id INTEGER)');
  expect(() => commit(file, { groupNumber: 2, consumptionDeltas: [delta, delta] })).toThrow(); // The group fails because it inserts one row twice.
  expect(query(file, 'SELECT * FROM item')).toEqual([]);
  expect(query(file, 'SELECT * FROM other')).toBe('SQL_INVALID');
  query(file, 'INSERT INTO item VALUES (2)');
  commit(file, { groupNumber: 3 });
  expect(query(file, 'SELECT * FROM item')).toEqual([{ id: 2 }]);
});

it('relaxed groups before and after a reserved one keep their own sync mode', () => {
  const file = open();
  commit(file, { groupNumber: 1, sync: 'NORMAL' });
  query(file, 'CREATE TABLE item (id INTEGER)');
  commit(file, { groupNumber: 2 });
  commit(file, { groupNumber: 3, sync: 'NORMAL' });
  query(file, 'INSERT INTO item VALUES (1)');
  file.rollBackStatements();
  file.rollBackStatements(); // There is nothing to roll back.
  commit(file, { groupNumber: 4, sync: 'NORMAL' });
  expect(query(file, 'SELECT * FROM item')).toEqual([]);
});
