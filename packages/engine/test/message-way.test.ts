/**
 * One message's path through the code: the files whose functions are called between its enqueue and its truncation, compared with the
 * line of the architecture page that names them.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** The most files on the path of a message. It may only be lowered: the last ones that came are the redo log and its applier. */
const filesMax = 37;

const sources = new URL('../src/', import.meta.url);

it('one message passes through a bounded number of files, which the architecture page names in one line', () => {
  const script = fileURLToPath(new URL('./message-way-process.ts', import.meta.url));
  const output = execFileSync(process.execPath, ['--import', script, script], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' }, // Source files are counted, so no bundles may be loaded.
  });
  const { session, writer, partitions } = JSON.parse(output) as {
    session: Record<string, string[]>;
    writer: Record<string, string[]>;
    partitions: number;
  };
  expect(partitions).toBe(1); // The partition of the message was truncated.
  expect(Object.keys(writer).length).toBeGreaterThan(0);
  const files = new Set([...Object.keys(session), ...Object.keys(writer)]);
  expect(files.size, callList(session, writer)).toBeLessThanOrEqual(filesMax);
  expect(describedLine().toSorted()).toEqual([...files].sort()); // each of them once
});

it('no file in that line imports one that is named before it', () => {
  const line = describedLine();
  expect(line.length).toBeGreaterThan(0);
  const upwards = line.flatMap((file, index) =>
    importsOf(file)
      .filter((imported) => line.indexOf(imported) >= 0 && line.indexOf(imported) <= index)
      .map((imported) => `${file} imports ${imported}`),
  );
  expect(upwards).toEqual([]);
});

/** The files that the page's section "The line" names, in its order. */
function describedLine(): string[] {
  const page = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith('The line\n'))!;
  const list = section.slice(section.indexOf('\n- '));
  return [...list.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => file!);
}

/** Imports of types count too. */
function importsOf(file: string): string[] {
  const source = readFileSync(new URL(file, sources), 'utf8');
  return [...source.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)';$/gm)].map(([, specifier]) =>
    new URL(specifier!, new URL(file, sources)).href.slice(sources.href.length),
  );
}

function callList(...threads: Record<string, string[]>[]): string {
  return threads
    .flatMap((calls) =>
      Object.entries(calls)
        .sort()
        .map(([file, names]) => `${file}: ${names.join(', ')}`),
    )
    .join('\n');
}
