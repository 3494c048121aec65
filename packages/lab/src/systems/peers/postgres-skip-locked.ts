/**
 * A hand-written job table in PostgreSQL: a transaction inserts rows; another takes the oldest rows that no other transaction has
 * locked, and deletes them when their messages are finished.
 */
import { serverCall } from '../../meters/load-waits.ts';
import type { OpenClient } from '../driver/driver.ts';
import { startPulling } from '../driver/pull-consumers.ts';
import { type Connection, openPostgres } from './postgres-client.ts';

const createTable = 'CREATE TABLE job (id bigserial PRIMARY KEY, body bytea NOT NULL)';
const insert = 'INSERT INTO job (body) SELECT unnest($1::bytea[])';
const take = 'SELECT id, body FROM job ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED';
const remove = 'DELETE FROM job WHERE id = ANY($1::bigint[])';
/** Pause of a consumer that found nothing, milliseconds. */
const pauseMs = 2;

interface Row {
  id: string;
  body: Buffer;
}

export const open: OpenClient = async ({ endpoints: [endpoint], createsQueue }) => {
  const { connect, count, stated, close } = await openPostgres(endpoint!);
  if (createsQueue) await (await connect()).query(createTable);
  return {
    stated,
    async openProducer() {
      const connection = await connect();
      return {
        async send(payloads) {
          await connection.query({ name: 'insert', text: insert, values: [payloads] });
        },
      };
    },
    async consume({ consumers, operations, deliveries, book }) {
      const connections = await Promise.all(Array.from({ length: consumers }, connect));
      return startPulling({
        consumers,
        book,
        pauseMs,
        async turn(consumer, time) {
          const connection = connections[consumer]!;
          await time.suspend(connection.query('BEGIN'), serverCall);
          time.resume();
          const rows = await time.suspend(takeRows(connection, operations), serverCall);
          time.resume();
          const taken = rows.map(({ body }) => deliveries.delivered(body, consumer));
          if (rows.length > 0) {
            const values = [rows.map(({ id }) => id)];
            await time.suspend(connection.query({ name: 'remove', text: remove, values }), serverCall);
            time.resume();
          }
          await time.suspend(connection.query('COMMIT'), serverCall);
          time.resume();
          deliveries.consumed(taken, consumer);
          return time.yield(rows.length > 0);
        },
      });
    },
    depth: () => count('SELECT count(*) FROM job'),
    close,
  };
};

async function takeRows(connection: Connection, operations: number): Promise<Row[]> {
  const { rows } = await connection.query({ name: 'take', text: take, values: [operations] });
  return rows as unknown as Row[];
}
