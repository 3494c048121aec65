/** A table other than those of messages is one module: a toy table is created, written, cleared and recovered without any other change. */
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PayloadReference } from '../src/model/payload-references.ts';
import { CheckedTable } from '../src/storage/instance-file/tables/checked-table.ts';
import { metaTable } from '../src/storage/instance-file/tables/last-group.ts';
import type { TableModule, WriteAppliers } from '../src/storage/instance-file/tables/table-module.ts';
import { TableRegistry } from '../src/storage/instance-file/tables/table-registry.ts';

const toys = new CheckedTable<PayloadReference>({
  name: 'toy',
  columns: ['queueId', 'shard', 'seq', 'payloadId', 'bytes'],
  key: ['payloadId'],
});

/** The toy table borrows a kind of write of the engine, since the kinds are a type that a test cannot extend. */
const toyTable = {
  schemaSql: `
    CREATE TABLE toy (queue_id INTEGER NOT NULL, shard INTEGER NOT NULL, seq INTEGER NOT NULL,
      payload_id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT;
    CREATE TABLE toy_count (partition INTEGER NOT NULL, subscriber INTEGER NOT NULL) STRICT;`,
  checkedTables: [toys],
  uncountedTables: ['toy_count'],
  createAppliers: (file): WriteAppliers<'payload referenced'> => {
    const write = toys.createWriter(file);
    return { 'payload referenced': ({ reference }) => write(reference) };
  },
  bodyBytes: { 'payload referenced': ({ reference }) => reference.bytes },
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM toy WHERE queue_id = ?').run(queueId);
  },
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM toy_count WHERE subscriber = ?').run(subscriber);
  },
  tablesByPartition: ['toy_count'],
  recover: (file) => ({ payloads: { references: toys.read(file), orphans: [] } }),
} satisfies TableModule;

const reference = (queueId: number, payloadId: number): PayloadReference => ({
  queueId,
  shard: 1,
  seq: 7,
  payloadId,
  bytes: 100 * payloadId,
});

function setUp() {
  const file = new Database(':memory:');
  onTestFinished(() => void file.close());
  const registry = new TableRegistry<typeof metaTable | typeof toyTable>([metaTable, toyTable]);
  file.exec(registry.schemaSql);
  const apply = registry.createWriteApplier(file);
  const write = (...references: PayloadReference[]) => {
    for (const each of references) apply({ kind: 'payload referenced', reference: each });
  };
  return { file, registry, apply, write };
}

describe('a table that is registered with one module', () => {
  it('is written and recovered', () => {
    const { file, registry, write } = setUp();
    write(reference(1, 1), reference(2, 2));
    expect(registry.recover(file).payloads.references).toEqual([reference(1, 1), reference(2, 2)]);
  });

  it('drops the rows of a deleted queue, a removed subscriber and a truncated partition', () => {
    const { file, registry, apply, write } = setUp();
    write(reference(1, 1), reference(2, 2));
    file.exec('INSERT INTO toy_count VALUES (1, 10), (1, 11), (2, 10)');
    apply({ kind: 'delete queue', queueId: 1 });
    expect(registry.recover(file).payloads.references).toEqual([reference(2, 2)]);
    apply({ kind: 'unsubscribe', subscriber: 11 });
    for (const statement of registry.preparePartitionDeletes(file)) statement.run(2);
    expect(file.prepare('SELECT partition, subscriber FROM toy_count').all()).toEqual([
      { partition: 1, subscriber: 10 },
    ]);
  });

  it('counts the bytes of its large writes towards a checkpoint, and no others', () => {
    const { registry } = setUp();
    expect(registry.bodyBytesOf({ kind: 'payload referenced', reference: reference(1, 3) })).toBe(300);
    expect(registry.bodyBytesOf({ kind: 'delete queue', queueId: 1 })).toBe(0);
  });

  it('has a checksum: after the loss of a row the file is not recovered until a repair accepts the loss', () => {
    const { file, registry, write } = setUp();
    write(reference(1, 1), reference(2, 2));
    file.exec('DROP TRIGGER toy_deleted; DELETE FROM toy WHERE payload_id = 2');
    const faults = [
      'The table toy has lost rows, or has rows that were not written to it (checksum mismatch)',
    ];
    expect(registry.findFaults(file)).toEqual(faults);
    expect(() => registry.recover(file)).toThrow(expect.objectContaining({ code: 'STORAGE_CORRUPT' }));
    expect(registry.acceptLoss(file)).toEqual(faults);
    expect(registry.recover(file).payloads.references).toEqual([reference(1, 1)]);
  });
});
