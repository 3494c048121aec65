/** One round: a copy of a folder gets one damage drawn from a seed, and what is then missing must be reported. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { random } from '../../random.ts';
import { type Observation, observe } from './observe.ts';
import { type FolderName, type Originals, type StoredFile, writeFolder } from './originals.ts';

export type DamageKind = 'flip' | 'zeroed sector' | 'old sector' | 'cut' | 'delete';

export interface Damage {
  folder: FolderName;
  file: string;
  kind: DamageKind;
  /** Position in the file, bytes; 0 if the whole file is deleted. */
  at: number;
  /** The bit of the byte, for a flip. */
  bit: number;
}

/**
 * `right`: exactly what was acknowledged could be read. `reported`: something is missing, and a typed error or the check says what is
 * damaged. `silent`: something is missing without any report. `wrong`: something was read that was never stored. `unexplained`: an
 * error that does not report damage.
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

const sectorBytes = 512;

const untouched = /^(instance-2\..*|election\.db|.*-shm)$/;

export function drawDamage(seed: number, { folders }: Originals): Damage {
  const next = random(seed);
  const upTo = (end: number) => Math.floor(next() * end);
  const folder = next() < 0.5 ? 'closed' : 'killed';
  const { files } = folders[folder];
  const names = [...files.keys()].filter((name) => !untouched.test(name));
  // The few bytes of an `.ack` file are soon all tried, so it is drawn less often.
  const weighted = names.flatMap((name) => Array<string>(name.endsWith('.ack') ? 1 : 4).fill(name));
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
  const { bytes, used } = files.get(file)!;
  // Most of a page is empty, and a flip in that space has no effect.
  const at = used.length > 0 && next() < 0.9 ? used[upTo(used.length)]! : upTo(bytes.length);
  return { folder, file, kind, at: kind === 'delete' ? 0 : at, bit: upTo(8) };
}

/** The content after the damage; undefined if the file is deleted. */
function damagedBytes(
  { bytes, older }: StoredFile,
  { kind, at, bit }: Damage,
): Buffer<ArrayBufferLike> | undefined {
  if (kind === 'delete') return undefined;
  if (kind === 'cut') return bytes.subarray(0, at);
  const damaged = Buffer.from(bytes);
  if (damaged.length === 0) return damaged;
  if (kind === 'flip') damaged[at] = damaged[at]! ^ (1 << bit);
  else {
    const start = at - (at % sectorBytes);
    const end = Math.min(start + sectorBytes, damaged.length);
    damaged.fill(0, start, end);
    if (kind === 'old sector') older.subarray(start, end).copy(damaged, start);
  }
  return damaged;
}

export async function runRound(seed: number, originals: Originals): Promise<RoundResult> {
  const { dir, folders } = originals;
  const damage = drawDamage(seed, originals);
  const { files, book } = folders[damage.folder];
  const copy = join(dir, `round-${process.pid}-${seed}`);
  mkdirSync(copy);
  try {
    writeFolder(copy, new Map([...files].filter(([name]) => name !== damage.file)));
    const left = damagedBytes(files.get(damage.file)!, damage);
    if (left !== undefined) writeFileSync(join(copy, damage.file), left);
    const seen = await observe(copy);
    return { seed, damage, seen, ...judge(book, seen) };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Rounds that run at the same time, since most of a round is waiting for the threads of its instance. */
const roundsAtOnce = 4;

/** Runs the rounds of these seeds, several at a time. `onResult` is called as each ends, and an error that it throws ends the run. */
export async function runRounds(
  seeds: readonly number[],
  originals: Originals,
  onResult: (result: RoundResult) => void,
): Promise<void> {
  const left = seeds.values();
  const runSome = async () => {
    for (const seed of left) onResult(await runRound(seed, originals));
  };
  await Promise.all(Array.from({ length: roundsAtOnce }, runSome));
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
