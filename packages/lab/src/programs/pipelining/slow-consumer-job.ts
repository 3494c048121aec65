/** The parameters of the program `slow-consumer`, and the messages between its trial and its process. */
import type { Params } from '@shardlab/contract';
import type { PipeliningJob, ThreadsResult } from './pipelining-job.ts';

/** How the pipeline of the slow consumer fills; `none`: there is no slow consumer. */
export const slowPipelines = ['none', 'fair', 'filled-at-once'] as const;

export interface SlowConsumerParams {
  pipeline: (typeof slowPipelines)[number];
  messagesMaximum: number;
  workMs: number;
  quotaMessages: number;
  windowMessages: number;
  payloadBytes: number;
  producers: number;
}

export const slowConsumerParamsOf = (params: Params) => params as unknown as SlowConsumerParams;

export interface SlowConsumerJob extends Omit<PipeliningJob, 'params'> {
  params: SlowConsumerParams;
}

export interface SlowConsumerResult {
  threads: ThreadsResult;
  /** Messages in the queue at the end. */
  left: number;
}
