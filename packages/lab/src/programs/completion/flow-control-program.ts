/** The program `flow-control`: messages are offered until they are refused, and what was accepted is dequeued. */
import type { Combination, FigureInfo, Params, Phases, Scenario } from '@shardlab/contract';
import { installFor, missingFor } from '../../systems/missing.ts';
import type { Program } from '../program.ts';
import { timeContradiction } from '../queue/points/contradiction.ts';
import { sessionTimeFigures } from '../session-time-figures.ts';
import { clientKill } from './client-kill.ts';
import { flowControlParameters, flowControlParamsOf } from './completion-params.ts';
import { completionSystems } from './completion-systems.ts';
import { runClientTrial } from './run-client-trial.ts';

const count = (name: string, label: string, title: string): FigureInfo => ({
  name,
  label,
  title,
  unit: 'messages',
  format: 'count',
});

const figures: readonly FigureInfo[] = [
  count('accepted', 'Accepted', 'Messages accepted'),
  count('refused', 'Refused', 'Messages refused'),
  count('delivered', 'Delivered', 'Messages delivered of those accepted'),
  count('acceptedAfterDrain', 'Accepted again', 'Messages accepted when the queue was empty again, of one'),
  ...sessionTimeFigures,
];

const msPerMessage = 0.15;
const startMs = 500;
const fixedBytes = 256 * 1024 ** 2;

export const flowControl: Program = {
  id: 'flow-control',
  title: 'Enqueues past the threshold of the flow control',
  parameters: flowControlParameters,
  figures,
  systems: completionSystems,
  missing: missingFor,
  install: installFor,
  check: () => [],
  estimateTrialMs: ({ params }: Combination, _: Phases) =>
    startMs + flowControlParamsOf(params).messages * msPerMessage,
  trialBytesMax(_: Scenario, params: Params) {
    const { messages, payloadBytes } = flowControlParamsOf(params);
    return fixedBytes + 4 * messages * (payloadBytes + 256);
  },
  contradiction: ({ figures }) => timeContradiction([figures.timeAccounted?.value ?? []].flat()),
  hasTicks: true,
  kill: clientKill((params) => {
    const { messagesMax, payloadBytes } = flowControlParamsOf(params);
    return { threads: 1, queues: 1, payloadBytes, messagesMax, atOnce: false };
  }),
  run(options) {
    const { messages: attempts, messagesMax, payloadBytes } = flowControlParamsOf(options.trial.params);
    const work = { kind: 'flow-control', attempts } as const;
    return runClientTrial(options, { work, threads: 1, queues: 1, payloadBytes, messagesMax });
  },
};
