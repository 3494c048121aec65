/**
 * What the trace of messages costs: CPU of the process per message, with and without. The same sessions work on two instances in
 * turn, 2,000 messages each, so that what else the machine does concerns both alike; who is first alternates. Without is a rate of 0, or
 * with `--before` another checkout, which need not know the trace. Prints the median of the ratios of all pairs with the interval that
 * contains it in 95 % of cases, the same of an instance and its like (which should be 1), and how many events were recorded.
 * The default durability is the cheapest: the share of the others is smaller, and lost in the CPU time of waiting for the disk.
 *
 *     node packages/engine/bench/trace-cost.ts [--pairs 2000] [--sessions 8] [--operations 10] [--durability memory]
 *         [--before CHECKOUT] [--holders] [--dataDir .]
 *
 * `--holders`: instead of the trace, what it costs to sample holders and waiters all the time; both sides trace.
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

/** An instance, and sessions that each enqueue and consume in turn. */
class Subject {
  readonly instance: engine.Instance;
  readonly #sessions: engine.Session[];
  messages = 0;

  constructor(instance: engine.Instance) {
    this.instance = instance;
    this.#sessions = Array.from({ length: Number(values.sessions) }, () => instance.openSession());
  }

  /** CPU microseconds of the process per message. */
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

/** Ratios of CPU per message, of `subject` to `base`. */
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
  // Ranks that enclose the median: as many values are below it as coins fall on one side.
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
