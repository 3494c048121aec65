/** One round: a copy of a folder, one damage drawn from a seed, and whether anybody was told what is missing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { random } from '../../random.ts';
import { type Observation, observe } from './observe.ts';

export type DamageKind = 'flip' | 'zeroed sector' | 'old sector' | 'cut' | 'delete';

export interface Damage {
  folder: 'closed' | 'killed';
  file: string;
  kind: DamageKind;
  /** Byte in the file; 0 where the whole file is gone. */
  at: number;
  /** Of the byte, for a flip. */
  bit: number;
}

/**
 * `right`: all that was acknowledged came out, and nothing else. `reported`: something is missing, and a typed error or the
 * check says what is damaged. `silent`: something is missing and nobody said so. `wrong`: something came out that was not
 * there. `unexplained`: an error that does not speak of damage.
 */
export type Verdict = 'right' | 'reported' | 'silent' | 'wrong' | 'unexplained';

export interface RoundResult {
  seed: number;
  damage: Damage;
  verdict: Verdict;
  missing: string[];
  extra: string[];
  seen: Observation;
}

const maker = fileURLToPath(new URL('./make-folder.ts', import.meta.url));
const sectorBytes = 512;

/** The two folders, made once, with what each holds. */
export interface Originals {
  dir: string;
  books: Record<Damage['folder'], string[]>;
}

/** Fills both folders in `dir` and reads what an undamaged copy of each holds. */
export async function makeOriginals(dir: string): Promise<Originals> {
  const books = {} as Originals['books'];
  for (const folder of ['closed', 'killed'] as const) {
    await fill(join(dir, folder), folder);
    const copy = join(dir, `${folder}-undamaged`);
    copyFolder(join(dir, folder), copy);
    const seen = await observe(copy);
    if (seen.reports.length + seen.unexplained.length > 0)
      throw new Error(
        `An undamaged folder reports ${JSON.stringify([...seen.reports, ...seen.unexplained])}`,
      );
    books[folder] = seen.items.toSorted();
    rmSync(copy, { recursive: true });
  }
  return { dir, books };
}

async function fill(dir: string, end: Damage['folder']): Promise<void> {
  mkdirSync(dir);
  const child = spawn(process.execPath, [maker, dir, end], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const ready = once(child.stdout, 'data');
  await Promise.race([
    ready,
    exit.then(([code]) => {
      throw new Error(`The process that fills the folder ended with ${code}`);
    }),
  ]);
  if (end === 'killed') child.kill('SIGKILL');
  await exit;
}

/** Sockets are left out: they belong to processes that have ended. */
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.sock') });
}

const untouched = /^(instance-2\..*|election\.db|.*\.sock|.*-shm)$/;

export function drawDamage(seed: number, { dir }: Originals): Damage {
  const next = random(seed);
  const upTo = (end: number) => Math.floor(next() * end);
  const folder = next() < 0.5 ? 'closed' : 'killed';
  const files = readdirSync(join(dir, folder))
    .filter((name) => !untouched.test(name))
    .toSorted();
  // Of the few bytes of a record beside a file each is soon tried.
  const weighted = files.flatMap((name) => Array<string>(name.endsWith('.ack') ? 1 : 4).fill(name));
  const file = weighted[upTo(weighted.length)]!;
  const draw = next();
  const kind: DamageKind =
    draw < 0.7
      ? 'flip'
      : draw < 0.8
        ? 'zeroed sector'
        : draw < 0.9
          ? 'old sector'
          : draw < 0.96
            ? 'cut'
            : 'delete';
  const bytes = readFileSync(join(dir, folder, file));
  // Most of a page is empty, and a flip there is of no consequence.
  const used: number[] = [];
  for (const [at, byte] of bytes.entries()) if (byte !== 0) used.push(at);
  const at = used.length > 0 && next() < 0.9 ? used[upTo(used.length)]! : upTo(bytes.length);
  return { folder, file, kind, at: kind === 'delete' ? 0 : at, bit: upTo(8) };
}

export function applyDamage(copy: string, older: string, { file, kind, at, bit }: Damage): void {
  const path = join(copy, file);
  if (kind === 'delete') {
    unlinkSync(path);
    return;
  }
  if (kind === 'cut') {
    truncateSync(path, at);
    return;
  }
  const bytes = readFileSync(path);
  if (bytes.length === 0) return;
  if (kind === 'flip') bytes[at] = bytes[at]! ^ (1 << bit);
  else {
    const start = at - (at % sectorBytes);
    const source = join(older, file);
    const old =
      kind === 'old sector' && existsSync(source)
        ? readFileSync(source).subarray(start, start + sectorBytes)
        : Buffer.alloc(0);
    bytes.fill(0, start, Math.min(start + sectorBytes, bytes.length));
    old.copy(bytes, start, 0, Math.min(old.length, bytes.length - start));
  }
  writeFileSync(path, bytes);
}

export async function runRound(seed: number, originals: Originals): Promise<RoundResult> {
  return runDamage(seed, drawDamage(seed, originals), originals);
}

export async function runDamage(
  seed: number,
  damage: Damage,
  { dir, books }: Originals,
): Promise<RoundResult> {
  const copy = join(dir, `round-${process.pid}-${seed}`);
  copyFolder(join(dir, damage.folder), copy);
  try {
    applyDamage(copy, join(dir, `${damage.folder}-older`), damage);
    const seen = await observe(copy);
    return { seed, damage, seen, ...judge(books[damage.folder], seen) };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function judge(
  book: readonly string[],
  seen: Observation,
): Pick<RoundResult, 'verdict' | 'missing' | 'extra'> {
  const left = new Map<string, number>();
  for (const item of book) left.set(item, (left.get(item) ?? 0) + 1);
  const extra: string[] = [];
  for (const item of seen.items) {
    const count = left.get(item) ?? 0;
    if (count === 0) extra.push(item);
    else left.set(item, count - 1);
  }
  const missing = [...left].flatMap(([item, count]) => Array<string>(count).fill(item));
  return { missing, extra, verdict: verdictOf(missing, extra, seen) };
}

function verdictOf(missing: string[], extra: string[], { reports, unexplained }: Observation): Verdict {
  if (extra.length > 0) return 'wrong';
  if (unexplained.length > 0 && reports.length === 0) return 'unexplained';
  if (missing.length === 0) return 'right';
  return reports.length > 0 ? 'reported' : 'silent';
}
