/** `node packages/history/src/cli.ts history.jsonl …`: judges the files as one history. Exit code 1 if it is illegal. */
import { readFileSync } from 'node:fs';
import { checkHistory } from './check/check-history.ts';
import { describeVerdict } from './check/report.ts';
import { HistoryError, mergeLines } from './record/parse-history.ts';

const files = process.argv.slice(2);
if (files.length === 0 || files.some((file) => file.startsWith('-'))) {
  process.stderr.write('usage: node packages/history/src/cli.ts history.jsonl …\n');
  process.exit(2);
}
try {
  // The last line of a file is cut off unless it ends with a line feed.
  const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1));
  const verdict = checkHistory(mergeLines(lines));
  console.log(describeVerdict(verdict));
  process.exitCode = verdict.violations.length === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof HistoryError) && (error as { code?: string }).code !== 'ENOENT') throw error;
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
