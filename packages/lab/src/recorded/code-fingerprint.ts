/** Which code measured a recording: figures of an engine that has changed since must be recorded again. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * A hash over the sources that decide what a trial measures: the engine, and of the lab its programs and the rooms below them.
 * Judges, pages, commands and the texts of errors may change without it. 16 hexadecimal digits.
 */
export function codeFingerprint(): string {
  const hash = createHash('sha256');
  const rooms = ['meters', 'integrity', 'raw', 'surroundings', 'systems', 'trial', 'programs'];
  for (const folder of ['engine/src', ...rooms.map((room) => `lab/src/${room}`)]) {
    const files = readdirSync(join(packages, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('.ts')).sort()) {
      hash.update(`${folder}/${file}\n`).update(readFileSync(join(packages, folder, file)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
