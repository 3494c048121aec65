/** `pairs`: compares the engines of two checkouts, trial beside trial. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes } from '../errors/exit-codes.ts';
import { integerOption } from '../errors/integer-option.ts';
import { pairCases } from '../pairs/cases.ts';
import { comparePairs, type PairsComparison, type PairsVerdict, ratioMin } from '../pairs/compare-pairs.ts';
import { runPairs, type TrialPair } from '../pairs/run-pairs.ts';
import { dataFolder, fromCaller, writeJson } from './folders.ts';

export interface PairsFlags {
  /** Number of pairs; a whole number as text. */
  pairs?: string | undefined;
  /** Length of the window of each trial, seconds. */
  seconds?: string | undefined;
  json?: string | undefined;
  'data-dir'?: string | undefined;
}

const measureMsDefault = 2_500;

/** Resolves with `failed` if a case lost speed. */
export async function pairsCommand(
  [before, after, ...named]: readonly string[],
  flags: PairsFlags,
): Promise<number> {
  const fault = faultOf(before, after, named);
  if (fault !== null || before === undefined || after === undefined) {
    process.stderr.write(`${fault}\n`);
    return exitCodes.usage;
  }
  const pairs = integerOption('pairs', flags.pairs ?? '20', 1);
  const measureMs =
    flags.seconds === undefined ? measureMsDefault : integerOption('seconds', flags.seconds, 1) * 1_000;
  const dataDir = dataFolder(flags['data-dir']);
  await mkdir(dataDir, { recursive: true });
  const compared: Record<string, PairsComparison> = {};
  for (const name of named.length > 0 ? named : Object.keys(pairCases)) {
    const workload = pairCases[name]!;
    process.stderr.write(`${name}: ${pairs} pairs\n`);
    const measured = await runPairs({
      before: fromCaller(before),
      after: fromCaller(after),
      workload,
      pairs,
      measureMs,
      dataDir,
      onPair: (pair) => process.stderr.write(`  ${pairInWords(pair)}\n`),
    });
    compared[name] = comparePairs(measured);
    process.stdout.write(`${comparisonInWords(name, compared[name])}\n`);
  }
  if (flags.json !== undefined) await writeJson(flags.json, compared);
  const lost = Object.values(compared).some(({ verdict }) => verdict === 'loss');
  return lost ? exitCodes.failed : exitCodes.done;
}

function faultOf(
  before: string | undefined,
  after: string | undefined,
  named: readonly string[],
): string | null {
  if (before === undefined || after === undefined) return 'pairs needs the folders of two checkouts';
  const missing = [before, after].find(
    (folder) => !existsSync(join(fromCaller(folder), 'packages/engine/src/index.ts')),
  );
  if (missing !== undefined) return `${missing} is not a checkout: it has no packages/engine/src/index.ts`;
  const unknown = named.find((name) => !Object.hasOwn(pairCases, name));
  return unknown === undefined
    ? null
    : `There is no case "${unknown}"; the cases are ${Object.keys(pairCases).join(', ')}`;
}

const number = (value: number) =>
  value >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));

function pairInWords({ before, after }: TrialPair): string {
  const rate = ({ dequeuePerSec, enqueuePerSec }: TrialPair['before']['rates']) =>
    dequeuePerSec > 0 ? dequeuePerSec : enqueuePerSec;
  const [a, b] = [rate(before.rates), rate(after.rates)];
  return `${number(a)}/s, ${number(b)}/s: ${(b / a).toFixed(2)}`;
}

const words: Readonly<Record<string, string>> = {
  dequeuePerSec: 'dequeues a second',
  enqueuePerSec: 'enqueues a second',
  cpuUsPerMessage: 'CPU, µs a message',
  sessionCpuUsPerMessage: '  session thread',
  writerCpuUsPerMessage: '  writer',
  commitMsP50: 'commit, ms, median',
  commitMsP99: 'commit, ms, p99',
  transactionsPerGroup: 'transactions a group',
  diskBytesPerMessage: 'bytes to disk a message',
  groupsPerStep: 'groups a step',
  syncsPerStep: 'syncs a step',
  sleepsPerStep: 'sleeps of threads a step',
  writtenBytesPerMessage: 'bytes written a message',
  heapBytesPerMessage: 'heap bytes a message',
};

const verdictWords: Readonly<Record<PairsVerdict, string>> = {
  'no loss': `No loss: all of the interval lies at or above ${ratioMin}`,
  loss: `Loss: all of the interval lies below ${ratioMin}`,
  undecided: `Undecided: the interval reaches below ${ratioMin}, or there are too few pairs`,
};

function comparisonInWords(name: string, { rates, counts, othersShare, verdict }: PairsComparison): string {
  const row = (cells: readonly [string, string, string, string]) =>
    `  ${cells[0].padEnd(28)}${cells[1].padStart(12)}${cells[2].padStart(12)}   ${cells[3]}`;
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  return [
    row([name, 'before', 'after', 'after ÷ before, 95 %']),
    ...rates.map(({ name, before, after, ratio: { value, interval } }) => {
      const span = interval === null ? '' : ` (${interval[0].toFixed(2)} to ${interval[1].toFixed(2)})`;
      return row([words[name]!, number(before), number(after), `${value.toFixed(2)}${span}`]);
    }),
    row(['CPU used by others', percent(othersShare.before), percent(othersShare.after), '']),
    '  One session, nothing beside it:',
    ...counts.map(({ name, before, after, isEqual }) =>
      row([words[name]!, number(before), number(after), isEqual ? 'equal' : (after / before).toFixed(2)]),
    ),
    `  ${[verdictWords[verdict], ...counts.filter(({ isEqual }) => !isEqual).map(({ name }) => `explain: ${words[name]}`)].join('; ')}\n`,
  ].join('\n');
}
