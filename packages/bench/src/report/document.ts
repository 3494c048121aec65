import type { Bench } from './bench.ts';
import { type Table, tablesOf } from './tables.ts';

const command = 'npm run bench -- --json out.json --docs docs/benchmarks.md';

/** `docs/benchmarks.md`: written by the bench, but for what was tried, which is kept by hand and included. */
export function documentOf(bench: Bench, tried: string): string {
  const { environment, payloadBytes, rounds } = bench;
  const { cpuModel, cores, memoryGiB, platform, fileSystem, syncMs, node, sqlite, commit, versions } =
    environment;
  const peers = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    '# Benchmarks',
    '',
    `Written by the bench, not by hand. To repeat it: \`${command}\`.`,
    '',
    `${cores} × ${cpuModel}, ${memoryGiB} GiB, ${platform}, ${fileSystem}; write and sync of 4 KiB ${syncMs.p50} ms`,
    `(p99 ${syncMs.p99}); Node ${node}, SQLite ${sqlite}; commit ${commit ?? 'unknown'}.`,
    ...(peers.length > 0 ? [`Peers: ${peers.join(', ')}.`] : []),
    '',
    `Payloads of ${payloadBytes} bytes, their check sum verified at every delivery; rates are medians of ${rounds} ${rounds === 1 ? 'repeat' : 'repeats'}`,
    '(lowest–highest), each in a fresh process, all trials interleaved; CPU is of client and server together, a message;',
    'peers at the number of consumers, of 1, 8 and 32, that a probe found best. A fault is a message lost, delivered twice,',
    'damaged, or out of an order that was promised.',
    ...tablesOf(bench).flatMap(markdown),
    ...notes(bench),
    '',
    tried.trim(),
    '',
  ].join('\n');
}

function markdown({ title, head, rows }: Table): string[] {
  const line = (row: string[]) => `| ${row.join(' | ')} |`;
  return ['', `## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function notes({ absent, failures }: Bench): string[] {
  const lines = [
    ...absent.map(({ driver, durability, reason }) => `- ${driver}, ${durability}: ${reason}`),
    ...failures.map(({ trial, round, error }) => `- ${trial}, round ${round}: ${error.split('\n')[0]}`),
  ];
  return lines.length === 0 ? [] : ['', '## Not measured', '', ...lines];
}
