/** The thread of `run-files.ts`: does one job after the other, each over a port of its own. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import {
  ExportedRun,
  exportedRunLimits,
  jsonLimits,
  measuredWorkloadsMax,
  type Point,
  Point as PointSchema,
  pointKey,
  type Run,
  shapeOf,
} from '@shardlab/contract';
import {
  assertRunParams,
  LabError,
  measuredWorkloads,
  newestOfEach,
  parseScenario,
  StudyRegistry,
} from '@shardlab/lab';
import { ServerError } from '../errors.ts';
import { decodeJsonBody, parseJson } from '../http/json-body.ts';
import { validateRequest } from '../http/validation.ts';
import type { ReadRun } from '../store/run-store.ts';
import { readStored } from '../store/stored-json.ts';
import { tickBounds } from './run-channel.ts';
import { runToCsv, runToJson } from './run-export.ts';
import { type Ask, type Job, type Told, toPlainError, unitsPerMessage } from './run-files.ts';
import { TickHistory } from './tick-history.ts';

const { studyFolders } = workerData as { studyFolders: readonly string[] };
const studies = await StudyRegistry.load(studyFolders.map((folder) => new URL(folder)));
const validate = validateRequest({
  schema: ExportedRun,
  method: 'POST',
  url: '/api/runs/import',
  httpPart: 'body',
}) as (value: unknown) => { error?: Error };

parentPort!.on('message', ({ job, port }: { job: Job; port: MessagePort }) => void answer(job, port));

async function answer(job: Job, port: MessagePort): Promise<void> {
  const texts = new Texts(port);
  try {
    for await (const told of answersTo(job, texts)) {
      port.postMessage({ told });
      if ((await texts.next()) === undefined) return;
    }
    port.postMessage({ ended: true });
  } catch (error) {
    port.postMessage({ failed: toPlainError(error) });
  } finally {
    port.close();
  }
}

async function* answersTo(job: Job, texts: Texts): AsyncGenerator<unknown> {
  if (job.kind === 'read') yield read(job.body, job.contentType);
  else if (job.kind === 'measured') yield await measured(job.heads, texts);
  else yield* inPieces(written(job, texts));
}

async function* written(
  { format, head }: Extract<Job, { kind: 'write' }>,
  texts: Texts,
): AsyncGenerator<string> {
  let pass = 0;
  const damaged: string[] = [];
  if (format === 'stored') {
    const { points: _points, ...fields } = head;
    yield `${JSON.stringify(fields).slice(0, -1)},"points":[`;
    let separator = '';
    for await (const { json } of texts.points(pass, damaged)) {
      yield separator + json;
      separator = ',';
    }
    yield damaged.length > 0 ? `],"damaged":${JSON.stringify(damaged)}}` : ']}';
    return;
  }
  const run = {
    head,
    damaged,
    points: () => {
      damaged.length = 0;
      return texts.values(pass++, damaged);
    },
    ticks: async () => ((await texts.ask({ ask: 'ticks' })) as string | undefined) ?? '[]',
  };
  yield* format === 'csv' ? runToCsv(run) : runToJson(run);
}

async function* inPieces(written: AsyncGenerator<string>): AsyncGenerator<string> {
  let piece = '';
  for await (const text of written) {
    piece += text;
    if (piece.length < unitsPerMessage) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function read(body: Uint8Array, contentType: string): ReadRun {
  const text = decodeJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength), contentType);
  const limits = { ...jsonLimits, valuesMax: exportedRunLimits.valuesMax };
  const value = parseJson(text, { shape: shapeOf(ExportedRun), limits });
  const { error } = validate(value);
  if (error !== undefined) throw error;
  const given = value as ExportedRun;
  // A scenario that this version cannot read has points that it cannot show.
  const parsed = parseScenario(given.scenario, studies);
  if (!parsed.ok) throw parsed.error;
  assertRunParams(given, studies);
  const { points, ticks = [], ...head } = { ...given, scenario: parsed.scenario };
  if (!['done', 'failed', 'cancelled'].includes(head.status))
    throw new ServerError('RUN_ACTIVE', { details: { id: head.id.slice(0, 64), status: head.status } });
  assertClaimsSize(head);
  const history = new TickHistory(tickBounds);
  for (const tick of ticks.toSorted((a, b) => a.atMs - b.atMs)) history.add(JSON.stringify(tick));
  return {
    head: { ...head, points: [] },
    points: points.map((point) => ({ key: pointKey(point), json: JSON.stringify(point) })),
    ticks: history.kept.map(({ json }) => json),
  };
}

/** Lists of runs read the verdicts of each. */
function assertClaimsSize({ claims }: Pick<Run, 'claims'>): void {
  const bytes = Buffer.byteLength(JSON.stringify(claims));
  const { claimsBytesMax } = exportedRunLimits;
  if (bytes <= claimsBytesMax) return;
  const message = `Must have at most ${claimsBytesMax.toLocaleString('en-US')} bytes as JSON, not ${bytes.toLocaleString('en-US')}`;
  throw new LabError('RUN_INVALID', {
    message: `The run has a fault: /claims: ${message}`,
    details: { errors: [{ path: '/claims', message }] },
  });
}

async function measured(heads: Extract<Job, { kind: 'measured' }>['heads'], texts: Texts) {
  const workloads = [];
  for (const [index, head] of heads.entries()) {
    const points: Point[] = [];
    for await (const point of texts.values(index, [])) points.push(point);
    workloads.push(...measuredWorkloads(head, points));
  }
  return newestOfEach(workloads, measuredWorkloadsMax);
}

/** The texts that the other side has. It answers one question at a time; `undefined` once it has closed the port. */
class Texts {
  readonly #port: MessagePort;
  #wake: (message: unknown) => void = () => {};

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message) => this.#wake(message));
    port.on('close', () => this.#wake(undefined));
  }

  next(): Promise<unknown> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  ask(question: Ask): Promise<unknown> {
    this.#port.postMessage(question);
    return this.next();
  }

  async *values(pass: number, damaged: string[]): AsyncGenerator<Point> {
    for await (const { value } of this.points(pass, damaged)) yield value;
  }

  /** Those that cannot be read are named in `damaged`, and to the other side. */
  async *points(pass: number, damaged: string[]): AsyncGenerator<{ json: string; value: Point }> {
    for (let number = 1; ; ) {
      const list = (await this.ask({ ask: 'points', pass })) as string[] | undefined;
      if (list === undefined || list.length === 0) return;
      for (const json of list) {
        const { value, damage } = readStored<Point>(json, PointSchema);
        if (damage === undefined) yield { json, value };
        else {
          damaged.push(`point ${number} ${damage}`);
          this.#port.postMessage({ damagedPoint: { pass, number, damage } } satisfies Told);
        }
        number += 1;
      }
    }
  }
}
