/** The address of a store as one text, as a command or a setting names it. */
import { QueueError } from '../api/errors.ts';
import type { NatsOptions } from '../api/store.ts';

/** Whether the text names servers rather than a folder. */
export const isStoreAddress = (text: string) => /^(nats|tls):\/\//.test(text);

const choices = {
  replicas: ['1', '3', '5'],
  sync: ['always', 'interval'],
  transactions: ['atomic', 'enqueue-first'],
} as const;

/**
 * `nats://user:password@a:4222,nats://b:4222?replicas=3&sync=always`: the servers, the user of the first one that has one, and
 * options: `replicas`, `sync`, `transactions`, `ca` (path of a PEM file), `creds` (path of a `.creds` file). `tls://` for
 * TLS. Throws `OPTIONS_INVALID`.
 */
export function parseStoreAddress(text: string): NatsOptions {
  const [servers = '', query = ''] = text.split('?', 2);
  const urls = servers.split(',').map(parseServer);
  const options: NatsOptions = { nats: urls.map(({ protocol, host }) => `${protocol}//${host}`) };
  const named = urls.find(({ username }) => username !== '');
  if (named !== undefined) options.user = decodeURIComponent(named.username);
  if (named?.password) options.password = decodeURIComponent(named.password);
  if (urls.some(({ protocol }) => protocol === 'tls:')) options.tls = {};
  for (const [name, value] of new URLSearchParams(query)) setOption(options, name, value);
  return options;
}

function parseServer(server: string): URL {
  const url = isStoreAddress(server) ? URL.parse(server) : null;
  if (url === null || url.hostname === '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
    throw new QueueError('OPTIONS_INVALID', {
      message: 'A store is named by its servers: nats://host:port, several with commas between them',
    });
  }
  return url;
}

function setOption(options: NatsOptions, name: string, value: string): void {
  if (name === 'ca') options.tls = { ...options.tls, caFile: value };
  else if (name === 'creds') options.credentialsFile = value;
  else if (!(name in choices)) {
    throw new QueueError('OPTIONS_INVALID', {
      message: `A store's address has no option ${name}; it has replicas, sync, transactions, ca and creds`,
    });
  } else {
    const known: readonly string[] = choices[name as keyof typeof choices];
    if (!known.includes(value)) {
      throw new QueueError('OPTIONS_INVALID', {
        message: `${name} of a store's address is ${known.join(' or ')}, not ${value}`,
      });
    }
    Object.assign(options, { [name]: name === 'replicas' ? Number(value) : value });
  }
}
