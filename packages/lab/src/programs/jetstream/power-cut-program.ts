/**
 * The program `jetstream-power-cut`: three NATS servers whose disks forget what was not synced, and the loss of power, of all at
 * once or of one while the others are in trouble of their own.
 */
import type { Params } from '@shardlab/contract';
import { missingForLossyDisks } from '@shardlab/jetstream/servers';
import Type from 'typebox';
import { missingFor } from '../../systems/missing.ts';
import type { Parameter, Program } from '../program.ts';
import { type FailoverJob, powerCuts } from './failover-job.ts';
import { faultMs, figures, replicatedSystems, runWithFaults, sessions } from './failover-program.ts';

interface PowerCutParams extends Pick<FailoverJob, 'faultMs' | 'sessions'> {
  cut: (typeof powerCuts)[number];
}

const powerCutParamsOf = (params: Params) => params as unknown as PowerCutParams;

const parameters: readonly Parameter[] = [
  {
    name: 'cut',
    title: 'which servers lose power',
    over: 'power cuts',
    names: { all: 'all servers lose power', one: 'one server loses power' },
    schema: Type.Enum([...powerCuts], {
      description:
        'all: at the same moment; one: the second, after the first was cut off, and then the third instead',
    }),
  },
  faultMs(
    {
      title: 'milliseconds of each part',
      over: 'milliseconds of a part',
      one: '{} ms for each part',
      many: '{} ms for each part',
      default: 10_000,
    },
    'Before the cut, and with one server again after it; an election takes some 5 s',
  ),
  sessions,
];

const startMs = 5_000;
const restartMs = 12_000;
const parts = { all: 1, one: 2 };
/** Disks are in memory. */
const fixedBytes = 64 * 1024 ** 2;

export const powerCutProgram: Program = {
  id: 'jetstream-power-cut',
  title: 'NATS servers that lose power, and with it what was not synced',
  parameters,
  figures: figures.toSorted((a, b) => Number(b.name === 'lost') - Number(a.name === 'lost')),
  systems: replicatedSystems,
  missing(systems, options) {
    const disks = missingForLossyDisks();
    return [...missingFor(systems, options), ...(disks === null ? [] : [disks])];
  },
  check: () => [],
  estimateTrialMs({ params }) {
    const { cut, faultMs: partMs } = powerCutParamsOf(params);
    return startMs + parts[cut] * partMs + restartMs;
  },
  trialBytesMax: () => fixedBytes,
  run(options) {
    const { cut, ...others } = powerCutParamsOf(options.trial.params);
    return runWithFaults(options, { ...others, fault: `power-cut-${cut}` });
  },
};
