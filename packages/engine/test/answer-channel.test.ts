/** Each answer of the writer arrives once and in order, whether the session thread polls or sleeps. */
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { CallerResumption } from '../src/commit/group-members.ts';
import type { GroupResult, WriterReply } from '../src/model/group-message.ts';
import { WaitRecorder } from '../src/model/wait-recorder.ts';
import { nodePorts } from '../src/node-ports.ts';
import { AnswerSender, createAnswerChannelMemory } from '../src/storage/threads/writer-channel.ts';
import { WriterAnswers } from '../src/storage/threads/writer-thread-client.ts';

const answerOf = (changes: Partial<GroupResult>): GroupResult => ({
  appliedThrough: changes.groupNumber ?? 2 ** 32 + 1,
  kind: 'group',
  groupNumber: 2 ** 32 + 1,
  generation: 3,
  failure: null,
  unusablePartitions: [],
  sqlOutcomes: [],
  maintenanceMs: 0.25,
  commitMs: 1.5,
  cpuUs: 2 ** 40,
  ...changes,
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Both ends in one thread. Posted messages are kept in `posted` until `deliver`. */
function setUp() {
  const memory = createAnswerChannelMemory();
  const posted: WriterReply[] = [];
  const sender = new AnswerSender(memory, (reply) => posted.push(reply));
  const arrived: GroupResult[] = [];
  const answers = new WriterAnswers(memory, nodePorts, (answer) => arrived.push(answer));
  const deliver = () => {
    const reply = posted.shift();
    answers.takeAnswers();
    if (reply?.kind === 'group') answers.onPostedAnswer(reply);
  };
  return { sender, answers, arrived, posted, deliver };
}

describe('answers of the writer', () => {
  it('arrive once and in order, however they are sent and polled', async () => {
    const step = fc.constantFrom('expect', 'answer', 'answer with a message', 'deliver', 'turn');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { sender, answers, arrived, posted, deliver } = setUp();
        let [asked, sent] = [0, 0];
        const answer = (isPlain: boolean) => {
          if (sent === asked) return;
          sent += 1;
          sender.send(answerOf({ groupNumber: sent, unusablePartitions: isPlain ? [] : [7] }));
        };
        for (const each of steps) {
          if (each === 'expect' && asked - arrived.length < limits.groupsInFlightMax) {
            asked += 1;
            answers.expectAnswer();
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
        expect(arrived.map(({ groupNumber }) => groupNumber)).toEqual(
          Array.from({ length: asked }, (_, index) => index + 1),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('arrive with every number unchanged', () => {
    const { sender, answers, arrived } = setUp();
    const answer = answerOf({});
    answers.expectAnswer();
    sender.send(answer);
    answers.takeAnswers();
    expect(arrived).toEqual([answer]);
  });

  it('wake a sleeping session thread', async () => {
    const memory = createAnswerChannelMemory();
    const worker = new Worker(
      `import { parentPort, workerData } from 'node:worker_threads';
       const { AnswerSender } = await import(workerData.module);
       const sender = new AnswerSender(workerData.memory, (reply) => parentPort.postMessage(reply));
       parentPort.on('message', (answer) => (answer === null ? parentPort.close() : sender.send(answer)));`,
      {
        eval: true,
        workerData: {
          memory,
          module: new URL('../src/storage/threads/writer-channel.ts', import.meta.url).href,
        },
      },
    );
    let done = () => {};
    const answers = new WriterAnswers(memory, nodePorts, () => done());
    worker.on('message', () => answers.takeAnswers());
    for (let groupNumber = 1; groupNumber <= 20; groupNumber += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      done = resolve;
      answers.expectAnswer();
      worker.postMessage(answerOf({ groupNumber }));
      await promise;
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage(null);
    expect(await ended).toBe(0);
  });
});

const newResumption = () =>
  new CallerResumption(
    { timers: nodePorts.timers, waits: new WaitRecorder({ clock: nodePorts.clock }) },
    () => undefined,
  );

describe('callers whose commits were in one group', () => {
  it('are resumed in order, a bounded number in each turn of the event loop', async () => {
    const resumption = newResumption();
    const resumed: number[] = [];
    const operations = limits.resumedOperationsPerTurnMax / 4;
    for (let caller = 0; caller < 10; caller += 1) resumption.add(() => resumed.push(caller), operations);
    const seen: number[] = [];
    for (resumption.start(); resumption.pending; await turn()) seen.push(resumed.length);
    expect(seen).toEqual([4, 8]);
    expect(resumed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('are resumed after those of the group before', () => {
    const resumption = newResumption();
    const resumed: string[] = [];
    resumption.add(() => resumed.push('large'), limits.resumedOperationsPerTurnMax);
    resumption.add(() => resumed.push('waits'), 1);
    resumption.start();
    resumption.add(() => resumed.push('came later'), 1);
    resumption.start();
    expect(resumed).toEqual(['large']);
  });
});
