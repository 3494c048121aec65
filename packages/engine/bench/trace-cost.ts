/**
 * Measures what the trace of messages costs in CPU time of the process per message. The same number of sessions works in turn on two
 * instances, one with and one without traces, 2,000 messages each, so that other work on the machine affects both alike; the order
 * alternates. The instance without traces has a rate of 0, or with `--before` is of another checkout, which may not have traces at all.
 * Prints the median ratio of all pairs with an interval that contains the true median in 95 % of cases, the same for two equal
 * instances (which should be 1), and how many events were recorded. The default durability is the one with the cheapest messages; with
 * others the cost is a smaller share, and less than the noise of waiting for the disk.
 *
 *     node packages/engine/bench/trace-cost.ts [--pairs 2000] [--sessions 8] [--operations 10] [--durability memory]
 *         [--before CHECKOUT] [--holders] [--dataDir .]
 *
 * `--holders` measures what it costs to sample holders and waiters all the time instead; both instances trace messages then.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as engine from '../src/index.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '2000' },
    sessions: { type: 'string', default: '8' },
    operations: { type: 'string', default: '10' },
    durability: { type: 'string', default: 'memory' },
    before: { type: 'string' },
    holders: { type: 'boolean', default: false },
    dataDir: { type: 'string', default: '.' },
  },
});
const pairs = Number(values.pairs);
const operations = Number(values.operations);
const messagesPerWindow = 2_000;
const warmUpPairs = 200;
const payload = Buffer.alloc(512, 7);

/** An instance, and sessions that enqueue and consume in turn. */
class Subject {
  readonly instance: engine.Instance;
  readonly #sessions: engine.Session[];
  messages = 0;

  constructor(instance: engine.Instance) {
    this.instance = instance;
    this.#sessions = Array.from({ length: Number(values.sessions) }, () => instance.openSession());
  }

  /** Works for a while, and returns the CPU time of the process per message in microseconds. */
  async work(): Promise<number> {
    const until = this.messages + messagesPerWindow;
    const messagesBefore = this.messages;
    const before = process.cpuUsage();
    await Promise.all(
      this.#sessions.map(async (session) => {
        while (this.messages < until) {
          for (let i = 0; i < operations; i += 1) session.enqueue('q', { payload });
          await session.commit();
          const taken = await session.dequeue('q', { max: operations });
          this.messages += taken.length;
          await session.commit();
        }
      }),
    );
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (this.messages - messagesBefore);
  }
}

const dir = mkdtempSync(join(values.dataDir, 'trial-'));

async function open(
  of: typeof engine,
  name: string,
  options: Partial<engine.InstanceOptions> = {},
): Promise<Subject> {
  const instance = await of.openInstance({ dir: join(dir, name), ...options });
  await instance.createQueue({ name: 'q', durability: values.durability as engine.Durability });
  return new Subject(instance);
}

const medianOf = (sorted: readonly number[]) => sorted[sorted.length >> 1]!;

/** The median ratio of CPU time per message of `subject` to that of `base`, with its interval, in words. */
async function compare(subject: Subject, base: Subject): Promise<string> {
  const ratios: number[] = [];
  const ofBase: number[] = [];
  for (let pair = -warmUpPairs; pair < pairs; pair += 1) {
    const cpu = new Map<Subject, number>();
    for (const each of pair % 2 === 0 ? [subject, base] : [base, subject]) cpu.set(each, await each.work());
    if (pair < 0) continue;
    ratios.push(cpu.get(subject)! / cpu.get(base)!);
    ofBase.push(cpu.get(base)!);
  }
  ofBase.sort((a, b) => a - b);
  ratios.sort((a, b) => a - b);
  // The ranks of the values that enclose the true median in 95 % of cases: the number of values below it is binomial with p = ½.
  const spread = 0.98 * Math.sqrt(pairs);
  const [low, high] = [Math.floor(pairs / 2 - spread), Math.ceil(pairs / 2 + spread)].map(
    (rank) => ratios[rank]!,
  );
  return `${medianOf(ratios).toFixed(4)} (${low!.toFixed(4)} to ${high!.toFixed(4)}), ${pairs} pairs of ${medianOf(ofBase).toFixed(2)} µs a message`;
}

const beforeEngine =
  values.before === undefined
    ? engine
    : ((await import(join(resolve(values.before), 'packages/engine/src/index.ts'))) as typeof engine);
const withoutTrace = values.before === undefined && !values.holders ? { traceEvery: 0 } : {};
const traced = await open(engine, 'traced');
const base = await open(beforeEngine, 'base', withoutTrace);
const like = await open(beforeEngine, 'like', withoutTrace);
if (values.holders) traced.instance.waits.sampleHolders({ inMs: 0 });
const what = values.holders ? 'sampled to not sampled:    ' : 'with the trace to without: ';
console.log(`${what} ${await compare(traced, base)}`);
console.log(`without, twice:             ${await compare(like, base)}`);
const newest = traced.instance.tracedMessages('q', { limit: 1 })[0];
if (newest !== undefined) {
  const { recorders } = await traced.instance.messageTrace('q', newest.id);
  const events = recorders[0]!.events + recorders[0]!.overwritten;
  console.log(`${traced.messages} messages, ${events} events of one in ${recorders[0]!.traceEvery}`);
}
for (const { instance } of [traced, base, like]) await instance.close();
rmSync(dir, { recursive: true });
