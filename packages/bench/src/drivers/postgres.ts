/** Shared by the PostgreSQL drivers: connecting to the server, and reading its durability. */
import { peerPackage } from './peer-packages.ts';

interface Client {
  connect(): Promise<void>;
  query(text: string): Promise<{ rows: Record<string, string>[] }>;
  end(): Promise<void>;
}
interface Pg {
  Client: new (options: ReturnType<typeof connectPostgres>) => Client;
}

/** The endpoint is the folder of the server's socket. */
export function connectPostgres(endpoint: string) {
  return { host: endpoint, user: 'bench', database: 'postgres' };
}

/** Reads the durability, and opens a connection for counting rows. */
export async function statedByPostgres(endpoint: string) {
  const { Client } = peerPackage<Pg>('pg');
  const client = new Client(connectPostgres(endpoint));
  await client.connect();
  const settings: string[] = [];
  for (const name of ['fsync', 'synchronous_commit']) {
    const { rows } = await client.query(`SHOW ${name}`);
    settings.push(`${name} ${rows[0]?.[name]}`);
  }
  return {
    stated: settings.join(', '),
    async count(query: string) {
      const { rows } = await client.query(query);
      return Number(rows[0]?.count);
    },
    end: () => client.end(),
  };
}
