/** One message's way through the code: the files with a function called between its enqueue and its truncation. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** Only ever lowered. */
const filesMax = 35;

it('one message passes through a bounded number of files, which the architecture page names', () => {
  const script = fileURLToPath(new URL('./message-way-process.ts', import.meta.url));
  const output = execFileSync(process.execPath, ['--import', script, script], { encoding: 'utf8' });
  const { session, writer, partitions } = JSON.parse(output) as {
    session: Record<string, string[]>;
    writer: Record<string, string[]>;
    partitions: number;
  };
  expect(partitions).toBe(1); // the one before it was truncated
  expect(Object.keys(writer).length).toBeGreaterThan(0);
  const files = new Set([...Object.keys(session), ...Object.keys(writer)]);
  expect(files.size, callList(session, writer)).toBeLessThanOrEqual(filesMax);
  const described = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8');
  expect([...files].filter((file) => !described.includes(`\`${file}\``))).toEqual([]);
});

function callList(...threads: Record<string, string[]>[]): string {
  return threads
    .flatMap((calls) =>
      Object.entries(calls)
        .sort()
        .map(([file, names]) => `${file}: ${names.join(', ')}`),
    )
    .join('\n');
}
