import type { Claim } from '../study.ts';
import { judgeD5, judgeD6, judgeD8 } from './judges/cases.ts';
import { judgeD1, judgeD2, judgeD3, judgeD4, judgeD7 } from './judges/rates.ts';

export const claims: readonly Claim[] = [
  {
    id: 'D1',
    title: 'Quotas with blocking sends cut the deviation of the rate, and raise it',
    document:
      'Adding quotas and quota-blocking sends reduced the large standard deviation in message rate; it also increased overall performance considerably.',
    where: 'Case Study, second paragraph; its graph: “Base”, “Quotas Only”',
    stated:
      'reduced the large standard deviation in message rate … It also increased overall performance considerably',
    grade: 'shape',
    judge: judgeD1,
  },
  {
    id: 'D2',
    title: 'One-way sends reach the same rate with fewer producers',
    document:
      'Adding one-way sends reduced the number of producer threads necessary to reach the level of performance seen in the quotas test run.',
    where: 'Case Study, third paragraph; its graph: “One-Way Sends Enabled”',
    stated:
      'reduced the number of producer threads necessary to reach the level of performance seen in the Quotas test run',
    grade: 'shape',
    judge: judgeD2,
  },
  {
    id: 'D3',
    title: 'With prefetch the rate rises about linearly to 4 producers, to more than 4 × that of the base',
    document:
      'Prefetch mode caused a fairly linear scaling for the producers up to 4 producers, where the single consumer thread is saturated; more than 4x in this case.',
    where: 'Case Study, last paragraph; Final Thoughts',
    stated:
      'a fairly linear scaling for the producers up to 4 producers. Here, the scaling stops because the single consumer thread has become saturated … (more than 4x in this case)',
    grade: 'prose',
    judge: judgeD3,
  },
  {
    id: 'D4',
    title:
      'More than 90,000 messages a second for each subscriber, and a second subscriber changes that little',
    document:
      "Adding a second subscriber to the topic doesn't cause the message rate to alter significantly (each subscriber is getting > 90k messages per second).",
    where: 'Case Study, last paragraph; not in its graph',
    stated:
      'each subscriber is getting > 90k messages per second, although this is not displayed in the graph',
    grade: 'prose',
    judge: judgeD4,
  },
  {
    id: 'D5',
    title: "Messages in a pipeline are not in the destination's sort order, but were when they left",
    document:
      "Messages in the pipeline will not be in the destination's configured sort order. The messages are sorted, however, prior to being sent in batch to the client.",
    where: 'Case 1: Asynchronous Client, first item of the list',
    stated: 'Messages in the pipeline will not be in the destination’s configured sort order',
    grade: 'prose',
    judge: judgeD5,
    aboutIntegrity: true,
  },
  {
    id: 'D6',
    title:
      'A user transaction or a second consumer switches prefetch off before the first receive, and is an error after it',
    document:
      'Pipelining is implicitly disabled if the first receive is part of a user transaction, or if several consumers are created before it; otherwise doing either later is an exception.',
    where: 'Synchronous Clients, User Transactions and Session Sharing',
    stated:
      'WebLogic implicitly disables Prefetch Mode / pipelining for the rest of the session when … the first receive() on a non-transacted session is a part of a User Transaction (XA) … Multiple consumers are created in the same session prior to calling the first receive() … you’ll get an exception',
    grade: 'prose',
    judge: judgeD6,
    aboutIntegrity: true,
  },
  {
    id: 'D7',
    title: 'Above about 100 kB a message a pipeline gains little',
    document:
      'An average message size over 100 kB should be an indicator that this setting may possess less value for you.',
    where: 'When Do I Use it and How?, third question',
    stated:
      'An average message size over 100 kB should be an indicator that this setting may possess less value for you',
    grade: 'shape',
    judge: judgeD7,
  },
  {
    id: 'D8',
    title:
      'Too large a pipeline starves other consumers and costs memory of its own; one that grows with its consumer does not',
    document:
      'If the pipeline is too large, you might wind up with one consumer overwhelmed by a huge backlog of messages when the other consumers are doing nothing.',
    where: 'Case 1: Asynchronous Client, paragraph before the list',
    stated:
      'If the pipeline is too large, you might wind up with one consumer overwhelmed by a huge backlog of messages when the other consumers are doing nothing',
    grade: 'prose',
    judge: judgeD8,
    aboutIntegrity: true,
  },
];
