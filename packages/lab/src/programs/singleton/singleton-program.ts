/** The program `singleton`: one service in a cluster, called by two clients, while its process is stopped, killed or suspended. */
import { fileURLToPath } from 'node:url';
import type { FigureInfo, Params, SystemInfo } from '@shardlab/contract';
import { median } from '@shardlab/model';
import Type from 'typebox';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { countOf } from '../count-of.ts';
import { count } from '../figure-info.ts';
import { runHost } from '../listen/run-host.ts';
import type { Parameter, Program } from '../program.ts';
import { activationsOf, activeAtOnceMs, refusedWrites, writtenTwice } from './journal.ts';
import { ownershipLanes } from './ownership-lanes.ts';
import { faults, type SingletonJob, type SingletonResult } from './singleton-job.ts';

const hostFile = fileURLToPath(new URL('./host.ts', import.meta.url));

export const singletonService: SystemInfo = {
  id: 'singleton-service',
  title: 'Singleton service',
  about: 'One service of the cluster, active where its preferred instance is hosted',
};
/** The document's own comparison: an EJB or Java SE singleton is one for each virtual machine. */
export const perProcessSingleton: SystemInfo = {
  id: 'singleton-per-process',
  title: 'One singleton in each process',
  about: 'The same service in every process of the cluster, of which each client calls that of its own',
};

interface SingletonParams extends Pick<SingletonJob, 'instances' | 'fault' | 'killEveryMs'> {
  state: 'kept' | 'lost';
}

const singletonParamsOf = (params: Params) => params as unknown as SingletonParams;

const parameters: readonly Parameter[] = [
  {
    name: 'fault',
    title: 'what happens to its process',
    over: 'faults',
    one: '{}',
    many: '{}',
    schema: Type.Enum([...faults], {
      description:
        'none; stop: shut down in order; kill: SIGKILL; hang: SIGSTOP; wake: SIGSTOP, then SIGCONT about when it is replaced; kills: SIGKILL again and again',
    }),
  },
  {
    name: 'state',
    title: 'whether its state is kept',
    over: 'kinds of state',
    one: 'state {}',
    many: 'state {}',
    schema: Type.Enum(['kept', 'lost'], { description: 'Whether what the service has survives a move' }),
    default: 'lost',
  },
  {
    name: 'instances',
    title: 'instances',
    over: 'instances',
    one: '{} instance',
    many: '{} instances',
    schema: countOf(2, 8, 'Instances of the cluster, each with a process'),
    default: 3,
  },
  {
    name: 'killEveryMs',
    title: 'milliseconds between kills',
    over: 'milliseconds between kills',
    one: '{} ms between kills',
    many: '{} ms between kills',
    schema: countOf(500, 60_000, 'Of the fault kills'),
    default: 2_000,
  },
];

const figures: readonly FigureInfo[] = [
  count('gapMs', 'Time without the service after a fault, median', { unit: 'ms' }),
  count('gapMaxMs', 'Longest time without the service', { unit: 'ms' }),
  count('moves', 'Moves of the service', { unit: 'moves' }),
  count('activeAtOnceMs', 'Time in which two were active', { unit: 'ms' }),
  count('writtenTwice', 'Writes that two of them made', { unit: 'writes' }),
  count('refusedWrites', 'Writes that were refused after a move', { unit: 'writes' }),
  count('seenByOther', 'What a second client reads once the first has added 8', { unit: 'value' }),
  count('seenAfterMove', 'What it reads after the move', { unit: 'value' }),
  count('startedOnPreferred', 'Whether it was first active on its preferred instance', { unit: '0 or 1' }),
  count('returned', 'Whether its preferred process has had it again', { unit: '0 or 1' }),
  count('returnedMs', 'Until its preferred process has it again', { unit: 'ms' }),
];

const startMs = 1_500;
const moveMs = 1_500;
const wakesMs = 16_000;
const fixedBytes = 256 * 1024 ** 2;

export const singletonProgram: Program = {
  id: 'singleton',
  title: 'A singleton service whose process ends',
  parameters,
  figures,
  systems: [singletonService, perProcessSingleton],
  check: () => [],
  estimateTrialMs: ({ params }, { measureMs }) => {
    const { fault } = singletonParamsOf(params);
    if (fault === 'wake') return startMs + Math.max(measureMs, wakesMs);
    return startMs + (fault === 'none' || fault === 'kills' ? measureMs : moveMs);
  },
  trialBytesMax: () => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, phases } = options;
  const { instances, fault, state, killEveryMs } = singletonParamsOf(trial.params);
  const job: SingletonJob = {
    dir: options.dir,
    instances,
    fault,
    kept: state === 'kept',
    killEveryMs,
    perProcess: trial.system === perProcessSingleton.id,
    measureMs: phases.measureMs,
  };
  const result = await runHost<SingletonResult, SingletonJob>(options, hostFile, job);
  return measuredOutcome({
    figures: figuresOf(result),
    swimlanes: ownershipLanes(result),
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    measuredMs: result.endedAtMs - result.startedAtMs,
  });
}

/** A gap that did not end is no number: it counts as the time until the trial ended. */
function figuresOf(result: SingletonResult): Record<string, number> {
  const { moves, journal, seenByOther, seenAfterMove, firstHolder, returnedMs, endedAtMs } = result;
  const gaps = moves.map(({ gapMs, atMs }) => (gapMs === -1 ? endedAtMs - atMs : gapMs));
  return {
    ...(gaps.length > 0 && { gapMs: median(gaps), gapMaxMs: Math.max(...gaps) }),
    moves: moves.length,
    activeAtOnceMs: activeAtOnceMs(activationsOf(journal)),
    writtenTwice: writtenTwice(journal),
    refusedWrites: refusedWrites(journal),
    seenByOther,
    ...(seenAfterMove !== undefined && { seenAfterMove }),
    startedOnPreferred: firstHolder === 1 ? 1 : 0,
    ...(returnedMs !== undefined && { returned: returnedMs === -1 ? 0 : 1 }),
    ...(returnedMs !== undefined && returnedMs !== -1 && { returnedMs }),
  };
}
