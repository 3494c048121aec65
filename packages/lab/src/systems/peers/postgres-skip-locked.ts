/**
 * A job table in PostgreSQL, as one writes it by hand: a transaction inserts rows; another takes the oldest rows that no
 * other transaction has locked, and deletes them when their messages are finished.
 */
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
    async consume({ consumers, operations, deliveries }) {
      const connections = await Promise.all(Array.from({ length: consumers }, connect));
      return startPulling({
        consumers,
        pauseMs,
        async turn(consumer) {
          const connection = connections[consumer]!;
          await connection.query('BEGIN');
          const rows = await takeRows(connection, operations);
          const taken = rows.map(({ body }) => deliveries.delivered(body, consumer));
          if (rows.length > 0)
            await connection.query({ name: 'remove', text: remove, values: [rows.map(({ id }) => id)] });
          await connection.query('COMMIT');
          deliveries.consumed(taken, consumer);
          return rows.length > 0;
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
