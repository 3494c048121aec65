/** The study of a blog post that compares Oracle Advanced Queuing with Redis. */

import { runToCompletion } from '../../programs/completion/completion-program.ts';
import { flowControl } from '../../programs/completion/flow-control-program.ts';
import type { Study } from '../study.ts';
import { claims } from './claims.ts';
import { notMeasured } from './not-measured.ts';

export const study: Study = {
  id: 'redis-benchmark',
  document: {
    letter: 'B',
    title: 'Oracle Advanced Queuing against Redis',
    originalTitle: 'Oracle AQ 与 Redis 性能对比',
    kind: 'Blog post (Lao Feng’s blog, in Chinese)',
    author: 'iVen Xu',
    addresses: [
      { title: 'Its source code', address: 'https://files.cnblogs.com/ivenxu/RedisBenchmark_src.zip' },
    ],
    language: 'zh',
    date: '2011-01-22',
    about:
      'Persistent and buffered queues of a database and a list of Redis, each filled and emptied by one thread, one message a call. It reports their order, the ratio of the two kinds of queues, and no effect of the number of messages.',
  },
  claims,
  notMeasured,
  programs: [runToCompletion, flowControl],
};
