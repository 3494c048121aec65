/** The program `xa`: transactions in closed loops, local, as a branch, or with two branches on one instance or two. */
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Combination, Params, Phases, Scenario, SystemInfo } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { type SpawnedServer, spawnServer } from '../../systems/driver/server.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { TrialLimit } from '../../trial/trial-limit.ts';
import { ClientProcess } from '../client-process.ts';
import { expandSweep, scalesOf } from '../expand-sweep.ts';
import type { Program } from '../program.ts';
import { emulationOf } from './emulation.ts';
import { folderOf } from './folders.ts';
import { figuresOf, xaFigures } from './xa-figures.ts';
import type { FromXaHost, ToXaHost, XaJob } from './xa-job.ts';
import { isEmulatedHardware, type XaParams, xaParameters, xaParamsOf } from './xa-params.ts';

const hostFile = fileURLToPath(new URL('./xa-host.ts', import.meta.url));
const serverFile = fileURLToPath(new URL('../../systems/engine-process.ts', import.meta.url));

const systems: readonly SystemInfo[] = [
  { id: 'xa-embedded', title: 'Embedded sessions', about: 'Instances and sessions are in one process' },
  {
    id: 'xa-remote',
    title: 'Remote sessions',
    about: 'Each instance is in a process of its own, and sessions reach it over its socket',
  },
];

/** Measured on two cores: the start of the processes, a sync of the disk, a call. */
const startMs = 1_500;
const realSyncMs = 3;
const realCallMs = 0.4;
const graceMsDefault = 120_000;
/** Fixed disk space of an instance. */
const fixedBytes = 128 * 1024 ** 2;
/** A message in a log and in the row of its branch, and a row of a table, with what SQLite writes of each twice. */
const bytesPerMessage = 64 * 1024;

/** Calls and syncs of a transaction that follow one another. */
const lengthOf = {
  local: { calls: 2, syncs: 1 },
  'one-branch': { calls: 4, syncs: 1 },
  'two-branches': { calls: 5, syncs: 4 },
} as const;

function runMs(params: XaParams): number {
  const { calls, syncs } = lengthOf[params.transaction];
  const { interconnectMs, roundTripMs, syncMs, coupling, sessions } = params;
  const callMs = realCallMs + roundTripMs + (coupling === 'loose' ? 0 : 2 * interconnectMs);
  const waiting = params.redo === 'shared' ? sessions / (params.transaction === 'two-branches' ? 2 : 1) : 1;
  return params.messagesPerSession * (calls * callMs + syncs * Math.max(realSyncMs, syncMs * waiting));
}

function check(scenario: Scenario): ScenarioProblem[] {
  const all = scalesOf(scenario).flatMap((scale) => expandSweep(scenario, scale, xaProgram));
  const odd = all.map(({ params }) => xaParamsOf(params)).find(isOdd);
  if (odd === undefined) return [];
  const where = scenario.sweep.sessions === undefined ? '/parameters/sessions' : '/sweep/sessions';
  return [{ path: where, message: 'A transaction with two branches needs an even number of sessions' }];
}

const isOdd = ({ transaction, sessions }: XaParams) => transaction === 'two-branches' && sessions % 2 === 1;

export const xaProgram: Program = {
  id: 'xa',
  title: 'Transactions: local, one branch, two branches',
  parameters: xaParameters,
  figures: xaFigures,
  systems,
  check,
  estimateTrialMs: ({ params }: Combination, _: Phases) => startMs + runMs(xaParamsOf(params)),
  trialBytesMax(_: Scenario, params: Params) {
    const { sessions, messagesPerSession, payloadBytes, instances } = xaParamsOf(params);
    return instances * fixedBytes + sessions * messagesPerSession * (bytesPerMessage + 8 * payloadBytes);
  },
  /** All sessions are in one process, that of the embedded instances too. */
  trialLoad({ system, params }: Combination) {
    const { sessions, instances } = xaParamsOf(params);
    return { sessions, processes: system === 'xa-remote' ? 1 + instances : 1, isPaced: false };
  },
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, scenario, dir, signal, onOpen, graceMs = graceMsDefault } = options;
  signal?.throwIfAborted();
  const params = xaParamsOf(trial.params);
  const place = trial.system === 'xa-remote' ? 'remote' : 'embedded';
  const limit = new TrialLimit(4 * runMs(params) + graceMs, signal);
  const servers: SpawnedServer[] = [];
  let host: ClientProcess<FromXaHost, ToXaHost> | undefined;
  try {
    await mkdir(dir, { recursive: true });
    if (place === 'remote') await startInstances(dir, params, servers);
    const serverPids = servers.map(({ child }) => child.pid!);
    host = new ClientProcess<FromXaHost, ToXaHost>(hostFile);
    onOpen?.(place === 'remote' ? serverPids : [host.pid!]);
    const nonce = (process.pid << 12) ^ trial.index;
    const job: XaJob = { dir, place, serverPids, params, seed: scenario.seed, nonce };
    host.send({ type: 'job', job });
    const { result } = await Promise.race([host.receive('result'), limit.reached]);
    await host.disconnect();
    return measuredOutcome({
      figures: figuresOf(result, params, place),
      provenance: isEmulatedHardware(params) ? 'emulated' : 'measured',
      waits: result.waits,
      sessionWaits: result.sessionWaits,
      sequence: result.sequence,
      integrity: mergeLedgers(result.ledgers),
      measuredMs: result.elapsedMs,
    });
  } finally {
    limit.clear();
    await host?.kill();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Each listens where the others, and the client, look for it. The client retries until they do. */
async function startInstances(dir: string, params: XaParams, servers: SpawnedServer[]): Promise<void> {
  const options = JSON.stringify(emulationOf(dir, params));
  for (let instance = 1; instance <= params.instances; instance += 1)
    servers.push(
      spawnServer(process.execPath, [
        serverFile,
        folderOf(dir, params, instance),
        String(instance),
        '',
        options,
      ]),
    );
}
