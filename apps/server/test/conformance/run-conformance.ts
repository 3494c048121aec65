/**
 * Compares a server of its own with the API's description: Schemathesis generates requests from `/openapi.json`, valid and
 * invalid ones, and checks each response. What it may expect is in `schemathesis.toml`, with the reasons.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export interface ConformanceOptions {
  /** Path of the program Schemathesis. */
  program: string;
  seed: number;
  phases: readonly ('examples' | 'coverage' | 'fuzzing' | 'stateful')[];
  /** Most generated requests per operation and phase; the coverage phase has as many as the schemas have boundary cases. */
  casesPerOperation: number;
  /** Time after which everything is killed and the run fails. */
  msMax: number;
  /** Receives what Schemathesis prints, as it comes. */
  onText?: (text: string) => void;
}

export interface Conformance {
  /** Schemathesis found nothing, the server logged no error, and it is healthy at the end. */
  ok: boolean;
  /** What Schemathesis printed, and what the server logged. */
  output: string;
  cases: number;
}

export async function runConformance(options: ConformanceOptions): Promise<Conformance> {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-conformance-'));
  const server = startServer(join(dir, 'data'));
  try {
    const url = await server.ready;
    const runId = await addTestData(url);
    const report = join(dir, 'report.json');
    const tool = spawn(options.program, argumentsOf(options, { url, report }), {
      cwd: here('.'),
      env: {
        ...process.env,
        CONFORMANCE_RUN_ID: runId,
        // Compiled modules are kept for the next run, outside of the sources.
        PYTHONPYCACHEPREFIX: join(dirname(options.program), '..', 'compiled'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timeout = setTimeout(() => tool.kill('SIGKILL'), options.msMax);
    let output = '';
    for (const stream of [tool.stdout, tool.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        options.onText?.(text);
      });
    }
    const [code] = await once(tool, 'close');
    clearTimeout(timeout);
    const healthy = await isHealthy(url);
    return {
      ok: code === 0 && healthy && server.log() === '',
      output: `${output}${server.log()}${healthy ? '' : '\nThe server is not healthy at the end\n'}`,
      cases: countCases(output),
    };
  } finally {
    await server.end();
    rmSync(dir, { recursive: true, force: true });
  }
}

function argumentsOf(
  { seed, phases, casesPerOperation }: ConformanceOptions,
  { url, report }: { url: string; report: string },
): string[] {
  return [
    ...['--config-file', here('schemathesis.toml'), '--no-color'],
    ...['run', `${url}/openapi.json`, '--phases', phases.join(',')],
    ...['--seed', String(seed), '--max-examples', String(casesPerOperation)],
    ...['--report', 'json', '--report-json-path', report],
  ];
}

function startServer(dataDir: string) {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  const child: ChildProcess = spawn(process.execPath, [here('../../src/main.ts')], {
    env: {
      PATH,
      ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
      DATA_DIR: dataDir,
      SERVICES: here('services.json'),
      PORT: '0',
      LOG_LEVEL: 'error',
    },
  });
  let printed = '';
  let logged = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
  });
  const closed = once(child, 'close');
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      const [url] = /http:\S+/.exec(printed) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.on('close', () => reject(new Error(`The server did not start: ${logged}`)));
  });
  const end = async () => {
    child.kill('SIGTERM');
    await closed;
  };
  return { ready, end, log: () => logged };
}

/** Adds the queues and runs that `schemathesis.toml` names, so that requests do not only get "not found". Returns the id of a run. */
async function addTestData(url: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path}: ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  for (const { path, body } of JSON.parse(readFileSync(here('test-data.json'), 'utf8')))
    await post(path, body);
  const { id } = await post('/api/runs', { scenario: 'small' });
  return id;
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/health`).catch(() => undefined);
  return answer?.status === 200;
}

/** The number of cases in the summary of Schemathesis: "  10125 generated, 10125 passed". */
const countCases = (output: string) =>
  Number(/([\d,]+) generated/.exec(output)?.[1]?.replaceAll(',', '') ?? 0);
