/**
 * Runs greedy and slow clients against a server of its own, while others must be served: 2,000 waiting dequeues of one queue, 200
 * clients that drip uploads, bodies and headers, and a document of nothing but faults. Exits with 1 if anybody is refused
 * who should not be, or the other way round. Takes half a minute.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const waiters = 2_000;
const uploads = 100;
const bodies = 50;
const headers = 50;
const wrongValues = 36_000;
const dripMs = 200;

const dataDir = mkdtempSync(join(tmpdir(), 'shardlab-hogs-'));
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const server = spawn(process.execPath, [main], { env: { ...process.env, PORT: '0', DATA_DIR: dataDir } });
server.stderr.pipe(process.stderr);
let failures = 0;

interface Answered {
  status: number;
  body: { code?: string; messages?: unknown[]; errors?: unknown[]; more?: boolean } | null;
  ms: number;
}

function judge(what: string, found: unknown, wanted: unknown): void {
  const ok = JSON.stringify(found) === JSON.stringify(wanted);
  if (!ok) failures += 1;
  console.log(
    `${ok ? 'ok    ' : 'FAILED'} ${what}: ${JSON.stringify(found)}${ok ? '' : `, not ${JSON.stringify(wanted)}`}`,
  );
}

try {
  const [line] = await once(server.stdout, 'data');
  const url = new URL(/http:\S+/.exec(String(line))![0]);
  await hog(url);
  server.kill('SIGTERM');
  const [code] = await once(server, 'exit');
  judge('exit code after SIGTERM, with clients that still drip', code, 0);
} finally {
  server.kill('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
}
console.log(failures === 0 ? 'Everybody else was served.' : `${failures} failed.`);
process.exit(failures === 0 ? 0 : 1);

async function hog(url: URL): Promise<void> {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const call = (method: string, path: string, body?: unknown, type = 'application/json') =>
    new Promise<Answered>((resolve) => {
      const started = performance.now();
      const outgoing = request(
        new URL(path, url),
        { method, agent, headers: { 'content-type': type } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (data) => {
            text += data;
          });
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              body: JSON.parse(text || 'null'),
              ms: performance.now() - started,
            }),
          );
        },
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) =>
        resolve({ status: 0, body: { code: String(error.code) }, ms: 0 }),
      );
      outgoing.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    });
  const metric = async (name: string) => {
    const response = await fetch(new URL('/metrics', url));
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await response.text())?.[1]);
  };
  const others = async (when: string) => {
    const messages = { messages: [{ payload: 'for others' }] };
    judge(
      `${when}: an enqueue to another queue`,
      (await call('POST', '/api/queues/others/messages', messages)).status,
      201,
    );
    const dequeued = await call('POST', '/api/queues/others/dequeue', { mode: 'manual' });
    judge(`${when}: a dequeue of it`, [dequeued.status, dequeued.body?.messages?.length], [200, 1]);
    const path = '/api/queues/others/messages/stream';
    judge(
      `${when}: an upload to it`,
      (await call('POST', path, 'bytes', 'application/octet-stream')).status,
      201,
    );
    judge(`${when}: health`, (await call('GET', '/api/health')).status, 200);
  };
  for (const name of ['greedy', 'others']) await call('POST', '/api/queues', { name });

  let refused = 0;
  for (let index = 0; index < waiters; index += 1) {
    call('POST', '/api/queues/greedy/dequeue', { waitMs: 30_000 }).then(({ status }) => {
      if (status === 429) refused += 1;
    });
  }
  while (refused + ((await metric('shardlab_dequeues_under_way')) || 0) < waiters) await pause(50);
  judge(
    `${waiters} dequeues of one queue: refused, waiting`,
    [refused, await metric('shardlab_dequeues_under_way')],
    [1_000, 1_000],
  );
  await others('beside them');

  const slow = [
    ...dripped(url, uploads, '/api/queues/greedy/messages/stream', 'application/octet-stream'),
    ...dripped(url, bodies, '/api/queues/greedy/messages', 'application/json'),
    ...Array.from({ length: headers }, () =>
      drip(url, `GET /api/health HTTP/1.1\r\nHost: ${url.host}\r\nX-Slow: `),
    ),
  ];
  await pause(1_000);
  await others(`beside ${slow.length} slow clients`);
  const scenario = {
    claims: Array(wrongValues).fill(0),
    program: 'queue',
    systems: Array(1_000).fill('wrong'),
  };
  const faulty = await call('POST', '/api/scenarios/validate', scenario);
  judge(
    'a scenario of wrong values: faults listed, more',
    [faulty.body?.errors?.length, faulty.body?.more],
    [100, true],
  );
  console.log(`       answered after ${faulty.ms.toFixed(0)} ms`);

  const answers = await Promise.all(slow.slice(0, uploads + bodies).map(({ answer }) => answer));
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const code = /"code":"(\w+)"/.exec(answer)?.[1] ?? 'none';
    counts[code] = (counts[code] ?? 0) + 1;
  }
  console.log(`       slow uploads and bodies ended with ${JSON.stringify(counts)}`);
  judge('slow uploads and bodies without a typed answer', counts.none ?? 0, 0);
  const path = '/api/queues/greedy/messages/stream';
  judge(
    'an upload to the same queue after them',
    (await call('POST', path, 'x', 'application/octet-stream')).status,
    201,
  );
  drip(url, `GET /api/health HTTP/1.1\r\nHost: ${url.host}\r\nX-Slow: `);
}

function dripped(url: URL, count: number, path: string, type: string) {
  const head = `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: ${type}\r\nContent-Length: 400000\r\n\r\n`;
  return Array.from({ length: count }, () => drip(url, head));
}

/** A connection that sends `text`, then a byte now and then. `answer` is all that was received until it was closed. */
function drip(url: URL, text: string): { answer: Promise<string> } {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => {}); // the server disconnects it on purpose
  socket.write(text);
  const timer = setInterval(() => socket.write(' '), dripMs);
  const answer = new Promise<string>((resolve) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (data) => {
      received += data;
    });
    socket.on('close', () => {
      clearInterval(timer);
      resolve(received);
    });
  });
  return { answer };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
