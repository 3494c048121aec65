/** The program `listen-cases`: two or three sessions, step by step, and the gets of one of them at each stage. */
import { fileURLToPath } from 'node:url';
import type { Params } from '@shardlab/contract';
import Type from 'typebox';
import { mergeLedgers } from '../../integrity/ledger.ts';
import { measuredOutcome, type TrialOptions, type TrialOutcome } from '../../trial/trial.ts';
import type { Parameter, Program } from '../program.ts';
import { listenCaseFigures } from './case-figures.ts';
import type { CaseJob, CaseResult } from './case-host.ts';
import { type CaseName, caseNames, dequeueIdleMs, listenIdleMs } from './cases.ts';
import { listenParameters } from './listen-params.ts';
import { runHost } from './run-host.ts';
import { sharedTopic } from './shared-topic.ts';

const hostFile = fileURLToPath(new URL('./case-host.ts', import.meta.url));

interface CaseParams {
  case: CaseName;
  copies: number;
  payloadBytes: number;
}

export const caseParamsOf = (params: Params) => params as unknown as CaseParams;

const caseTitles: Record<CaseName, string> = {
  'message-there': 'case 1: the message is there',
  'message-comes': 'case 2: the message comes while it waits',
  'message-for-another': 'case 3: a message for another comes first',
  'time-out': 'case 4: time-out',
  'ten-listens': 'ten listens, each with its dequeue',
  'ten-dequeues-by-name': 'ten dequeues by name',
  'uncommitted-dequeue': 'another has dequeued and not committed',
  'idle-polls': 'waits without a message',
  'unknown-recipients': '1,035 unknown recipients, then one subscriber too many',
};

const parameters: readonly Parameter[] = [
  ...listenParameters.filter(({ name }) => name === 'payloadBytes' || name === 'copies'),
  {
    name: 'case',
    title: 'case',
    over: 'the case',
    names: caseTitles,
    schema: Type.Union(
      caseNames.map((each) => Type.Literal(each)),
      { description: 'What the sessions do' },
    ),
  },
];

const startMs = 1_500;
/** Three writes of the catalog and the instance's file for each temporary subscriber. */
const subscribersMs = 15_000;
const fixedBytes = 256 * 1024 ** 2;

export const listenCasesProgram: Program = {
  id: 'listen-cases',
  title: 'Cases of a listen and a dequeue, step by step',
  parameters,
  figures: listenCaseFigures,
  systems: [sharedTopic],
  check: () => [],
  estimateTrialMs({ params }) {
    const { case: name } = caseParamsOf(params);
    if (name === 'idle-polls') return startMs + listenIdleMs + dequeueIdleMs;
    return startMs + (name === 'unknown-recipients' ? subscribersMs : 0);
  },
  trialBytesMax: () => fixedBytes,
  run,
};

async function run(options: TrialOptions): Promise<TrialOutcome> {
  const { trial, scenario } = options;
  const { case: name, copies, payloadBytes } = caseParamsOf(trial.params);
  const nonce = (process.pid << 12) ^ trial.index;
  const job: CaseJob = { dir: options.dir, name, copies, payloadBytes, seed: scenario.seed, nonce };
  const result = await runHost<CaseResult, CaseJob>(options, hostFile, job);
  return measuredOutcome({
    figures: result.figures,
    integrity: mergeLedgers(result.ledgers),
    measuredMs: result.measuredMs,
  });
}
