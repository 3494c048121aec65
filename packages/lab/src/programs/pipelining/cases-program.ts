/** The program `pipelining-cases`: one or two consumers, step by step, and what their pipelines did. */
import { fileURLToPath } from 'node:url';
import type { Params } from '@shardlab/contract';
import Type from 'typebox';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import { countOf } from '../count-of.ts';
import { runHost } from '../listen/run-host.ts';
import type { Parameter, Program } from '../program.ts';
import { pipelineCaseFigures } from './case-figures.ts';
import type { PipelineCaseJob, PipelineCaseResult } from './case-host.ts';
import { type PipelineCaseName, pipelineCaseNames } from './cases.ts';
import { pipeliningParameters, remoteTopic } from './pipelining-params.ts';

const hostFile = fileURLToPath(new URL('./case-host.ts', import.meta.url));

interface CaseParams {
  case: PipelineCaseName;
  messages: number;
  messagesMaximum: number;
}

export const pipelineCaseParamsOf = (params: Params) => params as unknown as CaseParams;

const parameters: readonly Parameter[] = [
  ...pipeliningParameters.filter(({ name }) => name === 'messagesMaximum'),
  {
    name: 'messages',
    title: 'messages in the queue',
    over: 'the messages in the queue',
    many: '{} messages in the queue',
    schema: countOf(
      100,
      5_000,
      'Messages that are there for a consumer with a huge pipeline and another one',
    ),
    default: 1_000,
  },
  {
    name: 'case',
    title: 'case',
    over: 'the case',
    names: {
      'urgent-after-leaving': 'an urgent message comes when the pipeline is full',
      'branch-before-receive': 'a distributed transaction before the first receive',
      'branch-after-receive': 'a distributed transaction after the first receive',
      'second-consumer-before-receive': 'a second consumer before the first receive',
      'second-consumer-after-receive': 'a second consumer after the first receive',
      'huge-pipeline': 'a huge pipeline, filled at once',
      'huge-fair-pipeline': 'a huge pipeline that grows with what is taken',
    },
    schema: Type.Union(
      pipelineCaseNames.map((each) => Type.Literal(each)),
      { description: 'What the sessions do' },
    ),
  },
];

const trialMs = 1_500;
const fixedBytes = 256 * 1024 ** 2;

export const pipeliningCasesProgram: Program = {
  id: 'pipelining-cases',
  title: 'Cases of a pipeline, step by step',
  parameters,
  figures: pipelineCaseFigures,
  systems: [remoteTopic],
  check: () => [],
  estimateTrialMs: () => trialMs,
  trialBytesMax: () => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { case: name, messages, messagesMaximum } = pipelineCaseParamsOf(options.trial.params);
  const job: PipelineCaseJob = { dir: options.dir, name, messages, messagesMaximum };
  const result = await runHost<PipelineCaseResult, PipelineCaseJob>(options, hostFile, job);
  return measuredOutcome({
    figures: result.figures,
    integrity: { lost: result.lost, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    measuredMs: result.measuredMs,
  });
}
