/** Shared by the PostgreSQL drivers: connecting to the server, reading its durability, and counting rows. */
import { clientPackage } from './client-packages.ts';

interface Statement {
  /** Prepared under this name in each connection. */
  name: string;
  text: string;
  values: readonly unknown[];
}

export interface Connection {
  connect(): Promise<void>;
  query(statement: string | Statement): Promise<{ rows: Record<string, string>[] }>;
  end(): Promise<void>;
}
interface Pg {
  Client: new (options: ReturnType<typeof postgresAddress>) => Connection;
}

/** The endpoint is the folder of the server's socket. */
export function postgresAddress(endpoint: string) {
  return { host: endpoint, user: 'shardlab', database: 'postgres' };
}

/** `stated` is the server's durability; `close` ends all connections. */
export async function openPostgres(endpoint: string) {
  const { Client } = clientPackage<Pg>('pg');
  const connections: Connection[] = [];
  const connect = async () => {
    const connection = new Client(postgresAddress(endpoint));
    await connection.connect();
    connections.push(connection);
    return connection;
  };
  const control = await connect();
  const settings: string[] = [];
  for (const name of ['fsync', 'synchronous_commit']) {
    const { rows } = await control.query(`SHOW ${name}`);
    settings.push(`${name} ${rows[0]?.[name]}`);
  }
  return {
    stated: settings.join(', '),
    connect,
    async count(query: string) {
      const { rows } = await control.query(query);
      return Number(rows[0]?.count);
    },
    async close() {
      await Promise.all(connections.map((connection) => connection.end()));
    },
  };
}
