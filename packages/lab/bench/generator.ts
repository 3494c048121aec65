/**
 * What the load generator costs per message, with its checksums, its ledger and its time book: the enqueuer and dequeuer of
 * a trial on an instance that does nothing. Other processes disturb a shared machine, so several processes take turns and
 * the median counts.
 *
 *     node packages/lab/bench/generator.ts                 # this folder
 *     node packages/lab/bench/generator.ts <other folder>  # and another checkout, in turns
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const payloadBytes = 512;
const operationsSteps = [1, 10, 40] as const;
const turns = 5;
const rounds = 12;
const roundsOfWarmUp = 4;
const messagesPerRound = 20_000;

type Nanoseconds = Record<number, number>;

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** CPU of this thread per message by operations per transaction, of the code in `folder`. */
async function measure(folder: string): Promise<Nanoseconds> {
  const load = (path: string) => import(pathToFileURL(resolve(folder, 'packages/lab/src', path)).href);
  const { cpuOfGenerator } = await load('programs/queue/trial/generator-costs.ts');
  const result: Nanoseconds = {};
  for (const operations of operationsSteps) {
    const measured: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { inUs, outUs } = await cpuOfGenerator({ payloadBytes, operations, messages: messagesPerRound });
      if (round >= roundsOfWarmUp) measured.push((inUs + outUs) * 1000);
    }
    result[operations] = median(measured);
  }
  return result;
}

function takeTurns(folders: readonly string[]): void {
  const found = folders.map((): Nanoseconds[] => []);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [index, folder] of folders.entries()) {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        [fileURLToPath(import.meta.url), '--measure', folder],
        { encoding: 'utf8' },
      );
      if (!stdout) throw new Error(stderr);
      found[index]!.push(JSON.parse(stdout));
    }
  }
  for (const [index, folder] of folders.entries()) {
    const line = operationsSteps.map((operations) => {
      const all = found[index]!.map((each) => Math.round(each[operations]!));
      return `${operations}: ${median(all)} (${Math.min(...all)} to ${Math.max(...all)})`;
    });
    process.stdout.write(`${folder}\n  ns per message by operations per transaction: ${line.join(', ')}\n`);
  }
}

const [first, second] = process.argv.slice(2);
const here = fileURLToPath(new URL('../../../', import.meta.url));
if (first === '--measure') process.stdout.write(JSON.stringify(await measure(second!)));
else takeTurns(first === undefined ? [here] : [resolve(first), here]);
