/**
 * What a client sends costs no more than the limits allow, whatever it is: each route gets the worst bodies that its schema allows to
 * be made. Counts are asserted: characters read past the first excess, values built of what is refused, and JSON that is parsed or
 * written in one turn of the event loop. Times are printed, the worst of each route; the aim is 50 ms.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ExportedRun,
  ExportedRun as ExportedRunSchema,
  JsonRefused,
  type JsonSchema,
  jsonLimits,
  type Run,
  scanJson,
  shapeOf,
} from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { point } from '../../../packages/lab/test/support.ts';
import { type ScannedBody, scannedBodies } from '../src/http/json-body.ts';
import { limits } from '../src/limits.ts';
import { shareApp, smallScenario } from './start-app.ts';
import { type WorstBody, worstBodies, worstOfAny } from './worst-bodies.ts';

interface Described {
  components: { schemas: Record<string, JsonSchema> };
  paths: Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: JsonSchema }> } }>
  >;
}

/** Routes that have no body of `json-body.ts`: texts are read by the lab, runs in another thread. */
const readElsewhere = ['POST /api/runs/import', 'POST /api/scenarios', 'POST /api/scenarios/validate'];

const properties = Array.from({ length: 64 }, (_, index) => `"${index}":""`).join(',');
/** By route: as much as its limits allow all together. */
const fullest = new Map<string, WorstBody[]>([
  [
    'POST /api/queues/{queue}/messages',
    [
      {
        name: '1,000 messages of 64 properties',
        text: `{"messages":[${Array(1_000).fill(`{"payload":1,"properties":{${properties}}}`).join(',')}]}`,
        excessAt: undefined,
      },
    ],
  ],
]);

const app = shareApp();

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Characters of JSON that this thread parses and writes in one turn of the event loop, at most, while `work` is under way. */
async function jsonPerTurn(work: () => Promise<unknown>): Promise<{ units: number; calls: number }> {
  const { parse, stringify } = JSON;
  let turn = 0;
  const most = { units: 0, calls: 0 };
  const count = (text: string | undefined) => {
    turn += text?.length ?? 0;
    most.units = Math.max(most.units, turn);
    most.calls += 1;
  };
  JSON.parse = (text: string, ...rest: []) => {
    count(text);
    return parse(text, ...rest) as unknown;
  };
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args) as string | undefined;
    count(text);
    return text;
  }) as typeof stringify;
  let isRunning = true;
  const turns = (async () => {
    while (isRunning) {
      await nextTurn();
      turn = 0;
    }
  })();
  try {
    await work();
  } finally {
    isRunning = false;
    await turns;
    Object.assign(JSON, { parse, stringify });
  }
  return most;
}

describe('the worst bodies', () => {
  it('of every route are read up to the first excess, and nothing is built of what is refused', async () => {
    const { app: server, get } = app();
    const { paths, components } = (await get<Described>('/openapi.json')).body;
    const resolve = (ref: string) => components.schemas[ref.split('/').at(-1)!]!;
    const read: ScannedBody[] = [];
    const onRead = (body: unknown) => void read.push(body as ScannedBody);
    scannedBodies.subscribe(onRead);
    const table: { route: string; worst: string; ms: number; bodies: number }[] = [];
    const faults: string[] = [];
    /** By size: of the bodies that any route can get, those that cost the first one most. */
    const costliest = new Map<number, WorstBody[]>();
    try {
      for (const [path, operations] of Object.entries(paths)) {
        for (const [method, { requestBody }] of Object.entries(operations)) {
          const schema = requestBody?.content['application/json']?.schema;
          const route = `${method.toUpperCase()} ${path}`;
          if (schema === undefined || readElsewhere.includes(route)) continue;
          const send = (payload: string) =>
            server.inject({
              method: method.toUpperCase() as 'POST',
              url: path.replaceAll(/\{\w+\}/g, 'q'),
              headers: { host: 'localhost', 'content-type': 'application/json' },
              payload,
            });
          const large = await send(' '.repeat(limits.bodyBytes + 1));
          const bytes = large.statusCode === 413 ? limits.bodyBytes : limits.enqueueBodyBytes;
          const row = { route, worst: '', ms: 0, bodies: 0 };
          const ofAny = costliest.get(bytes) ?? worstOfAny(bytes, jsonLimits);
          const cost = new Map<WorstBody, number>();
          const ofRoute = worstBodies(schema, { bytes, limits: jsonLimits, resolve });
          for (const body of [...ofAny, ...ofRoute, ...(fullest.get(route) ?? [])]) {
            read.length = 0;
            const start = cpuMs();
            const { statusCode } = await send(body.text);
            const ms = cpuMs() - start;
            cost.set(body, ms);
            row.bodies += 1;
            if (ms > row.ms) Object.assign(row, { worst: body.name, ms });
            const fault = faultOf(body, { statusCode, read });
            if (fault !== null) faults.push(`${route}, ${body.name}: ${fault}`);
          }
          table.push(row);
          const byCost = ofAny.toSorted((a, b) => cost.get(b)! - cost.get(a)!);
          costliest.set(bytes, byCost.slice(0, 4));
        }
      }
    } finally {
      scannedBodies.unsubscribe(onRead);
    }
    print(table);
    expect(faults).toEqual([]);
    expect(table.length).toBeGreaterThan(20);
  }, 120_000);

  it('of an imported run are read up to the first excess', () => {
    // What counts is that each place is reached; an import may have many more values.
    const importLimits = { ...jsonLimits, valuesMax: 2_000 };
    const shape = shapeOf(ExportedRunSchema);
    const faults: string[] = [];
    let bodies = 0;
    const schema = ExportedRunSchema as unknown as JsonSchema;
    const given = { bytes: 24 * 1024, limits: importLimits, resolve: () => ({}) };
    for (const body of [...worstOfAny(given.bytes, importLimits), ...worstBodies(schema, given)]) {
      const { excessAt } = body;
      bodies += 1;
      try {
        scanJson(body.text, shape, importLimits);
        if (excessAt !== undefined) faults.push(`${body.name}: accepted`);
      } catch (error) {
        if (!(error instanceof JsonRefused)) continue; // no JSON
        if (error.counts.unitsRead > (excessAt ?? Number.POSITIVE_INFINITY))
          faults.push(`${body.name}: ${error.message}`);
      }
    }
    expect(faults).toEqual([]);
    expect(bodies).toBeGreaterThan(500);
  });

  it.each([
    ['[', (count: number) => '['.repeat(count)],
    ['{} as points', (count: number) => `{"points":[${'{},'.repeat(count / 3)}{}]}`],
    ['numbers', (count: number) => `{"points":[{"byInstance":{"a":[${'1,'.repeat(count / 2)}1]}}]}`],
  ])('of an import are parsed in another thread: %s', async (_what, make) => {
    const { postText } = app();
    const text = make(4_000_000);
    const { units } = await jsonPerTurn(async () => {
      expect((await postText('/api/runs/import', text)).status).toBe(400);
    });
    expect(units).toBeLessThan(10_000);
  });

  it('of a scenario are refused before they are parsed', async () => {
    const { postText } = app();
    for (const url of ['/api/scenarios', '/api/scenarios/validate']) {
      for (const text of [
        '['.repeat(250_000),
        `[${'{},'.repeat(85_000)}{}]`,
        `{${'"a":0,'.repeat(40_000)}"a":0}`,
      ]) {
        const { units } = await jsonPerTurn(() => postText(url, text));
        expect(units).toBeLessThan(20_000);
      }
    }
  });
});

describe('a large run', () => {
  const points = Array.from({ length: 200 }, (_, index) => {
    const made = point({ threads: 1, deq: 100, waits: [{}] });
    const values = Array.from({ length: 2_000 }, (_, at) => at);
    return { ...made, params: { ...made.params, backlogMax: index + 1 }, histograms: { latchGetNs: values } };
  });
  const run: Run = {
    ...newRun({
      id: '00000000-0000-4000-8000-0000000000aa',
      scenario: smallScenario(),
      scale: 'quick',
      createdAtMs: 1,
    }),
    status: 'done',
    points,
  };

  it('is imported, sent, listed and exported in turns of which none parses or writes much', async () => {
    const { get, postText } = app();
    const text = JSON.stringify(run);
    expect(text.length).toBeGreaterThan(1_800_000);
    const imported = await jsonPerTurn(async () => {
      expect((await postText('/api/runs/import', text)).status).toBe(201);
    });
    const url = `/api/runs/${run.id}`;
    const answers: unknown[] = [];
    const reading = async (path: string) => {
      const answer = await app().app.inject({ url: path, headers: { host: 'localhost' } });
      expect(answer.statusCode).toBe(200);
      answers.push(answer.body);
    };
    const sent = await jsonPerTurn(() => reading(url));
    const exported = await jsonPerTurn(() => reading(`${url}/export`));
    const table = await jsonPerTurn(() => reading(`${url}/export?format=csv`));
    const listed = await jsonPerTurn(() => reading('/api/runs'));
    const measured = await jsonPerTurn(() => reading('/api/measured-workloads'));
    for (const { units } of [imported, sent, exported, table, listed, measured])
      expect(units).toBeLessThan(50_000);
    expect(JSON.parse(answers[0] as string)).toEqual({ ...run, imported: true });
    expect(JSON.parse(answers[1] as string)).toEqual({ ...run, imported: true } satisfies ExportedRun);
    expect((answers[2] as string).split('\r\n')).toHaveLength(points.length + 2);
    expect((await get<{ runs: unknown[] }>('/api/runs')).body.runs).toHaveLength(1);
  });
});

/** What is wrong with how a body was read; null if nothing is. */
function faultOf(
  { excessAt, text }: WorstBody,
  answer: { statusCode: number; read: readonly ScannedBody[] },
): string | null {
  const { statusCode, read } = answer;
  if (statusCode >= 500) return `status ${statusCode}`;
  if (read.length === 0) return excessAt !== undefined && isJson(text) ? 'not read, or read elsewhere' : null;
  const [{ read: counts, valuesBuilt }] = read as [ScannedBody];
  if (counts.values > jsonLimits.valuesMax + 1) return `${counts.values} values`;
  if (excessAt === undefined) return null;
  if (valuesBuilt > 0) return `${valuesBuilt} values built, status ${statusCode}`;
  return counts.unitsRead > excessAt
    ? `read up to ${counts.unitsRead}, the first excess is at ${excessAt}`
    : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function print(table: readonly { route: string; worst: string; ms: number; bodies: number }[]): void {
  const rows = table.toSorted((a, b) => b.ms - a.ms);
  const lines = rows.map(
    ({ route, worst, ms, bodies }) =>
      `${ms.toFixed(1).padStart(7)} ms  ${route.padEnd(52)} ${worst} (of ${bodies} bodies)`,
  );
  console.log(`CPU of the server's thread for the worst body of each route; aim 50 ms\n${lines.join('\n')}`);
}
