/** The figures of the program `pipelining-cases`. */
import type { FigureInfo } from '@shardlab/contract';
import { count } from '../figure-info.ts';

export const pipelineCaseFigures: readonly FigureInfo[] = [
  count('deliveredBeforeUrgent', 'Messages before the urgent one', { unit: 'messages' }),
  count('sortedBeforeLeaving', 'First messages that were the most urgent'),
  count('refused', 'Calls refused with PREFETCH_ACTIVE'),
  count('prefetching', 'Consumers that prefetch'),
  count('inPipeline', 'Messages in the pipeline of a consumer that stopped', { unit: 'messages' }),
  count('leftToAnother', 'Messages that another consumer got at that time', { unit: 'messages' }),
];
