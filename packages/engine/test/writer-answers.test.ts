/** Answers of the writer on their way back: each arrives once and in order, whether the session thread looks or sleeps. */
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/core/limits.ts';
import { Wakeups } from '../src/instance/wakeups.ts';
import { WriterAnswers } from '../src/instance/writer-answers.ts';
import { AnswerSender, createAnswerMemory } from '../src/storage/answer-channel.ts';
import type { GroupResult, WriterReply } from '../src/storage/group-message.ts';

const answerOf = (changes: Partial<GroupResult>): GroupResult => ({
  kind: 'group',
  no: 2 ** 32 + 1,
  generation: 3,
  failure: null,
  unusable: [],
  sql: [],
  maintenanceMs: 0.25,
  commitMs: 1.5,
  cpuUs: 2 ** 40,
  ...changes,
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Both ends in one thread; messages lie in `posted` until `deliver`. */
function setUp() {
  const memory = createAnswerMemory();
  const posted: WriterReply[] = [];
  const sender = new AnswerSender(memory, (reply) => posted.push(reply));
  const arrived: GroupResult[] = [];
  const answers = new WriterAnswers(memory, (answer) => arrived.push(answer));
  const deliver = () => {
    const reply = posted.shift();
    answers.take();
    if (reply?.kind === 'group') answers.posted(reply);
  };
  return { sender, answers, arrived, posted, deliver };
}

describe('answers of the writer', () => {
  it('arrive once and in order, however they come and whenever anyone looks', async () => {
    const step = fc.constantFrom('expect', 'answer', 'answer with a message', 'deliver', 'turn');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { sender, answers, arrived, posted, deliver } = setUp();
        let [asked, sent] = [0, 0];
        const answer = (isPlain: boolean) => {
          if (sent === asked) return;
          sent += 1;
          sender.send(answerOf({ no: sent, unusable: isPlain ? [] : [7] }));
        };
        for (const each of steps) {
          if (each === 'expect' && asked - arrived.length < limits.groupsInFlightMax) {
            asked += 1;
            answers.expect();
          } else if (each === 'answer') answer(true);
          else if (each === 'answer with a message') answer(false);
          else if (each === 'deliver') deliver();
          else if (each === 'turn') await turn();
        }
        while (sent < asked) answer(true);
        while (arrived.length < asked) {
          await turn();
          if (posted.length > 0) deliver();
        }
        expect(arrived.map(({ no }) => no)).toEqual(Array.from({ length: asked }, (_, index) => index + 1));
      }),
      { numRuns: 200 },
    );
  });

  it('bring every number as it was', () => {
    const { sender, answers, arrived } = setUp();
    const answer = answerOf({});
    answers.expect();
    sender.send(answer);
    answers.take();
    expect(arrived).toEqual([answer]);
  });

  it('wake a thread that sleeps', async () => {
    const memory = createAnswerMemory();
    const worker = new Worker(
      `import { parentPort, workerData } from 'node:worker_threads';
       const { AnswerSender } = await import(workerData.module);
       const sender = new AnswerSender(workerData.memory, (reply) => parentPort.postMessage(reply));
       parentPort.on('message', (answer) => (answer === null ? parentPort.close() : sender.send(answer)));`,
      {
        eval: true,
        workerData: { memory, module: new URL('../src/storage/answer-channel.ts', import.meta.url).href },
      },
    );
    let done = () => {};
    const answers = new WriterAnswers(memory, () => done());
    worker.on('message', () => answers.take());
    for (let no = 1; no <= 20; no += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      done = resolve;
      answers.expect();
      worker.postMessage(answerOf({ no }));
      await promise;
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage(null);
    expect(await ended).toBe(0);
  });
});

describe('those who waited for one group', () => {
  it('go on in order, some in each turn of the event loop', async () => {
    const wakeups = new Wakeups(() => undefined);
    const woken: number[] = [];
    const operations = limits.wakeOperationsMax / 4;
    for (let no = 0; no < 10; no += 1) wakeups.add(() => woken.push(no), operations);
    const seen: number[] = [];
    for (wakeups.run(); wakeups.pending; await turn()) seen.push(woken.length);
    expect(seen).toEqual([4, 8]);
    expect(woken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('go on behind those of the group before', () => {
    const wakeups = new Wakeups(() => undefined);
    const woken: string[] = [];
    wakeups.add(() => woken.push('large'), limits.wakeOperationsMax);
    wakeups.add(() => woken.push('waits'), 1);
    wakeups.run();
    wakeups.add(() => woken.push('came later'), 1);
    wakeups.run();
    expect(woken).toEqual(['large']);
  });
});
