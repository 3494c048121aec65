/** What a bench has measured so far, a line of JSON each: an interrupted one goes on where it was, given the same file. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

interface Entry {
  key: string;
  value: unknown;
}

export class Journal {
  readonly #path: string | null;
  readonly #known = new Map<string, unknown>();

  /** Without a path nothing is kept. Throws if the file belongs to a bench of other circumstances. */
  constructor(path: string | null, circumstances: string) {
    this.#path = path;
    if (path === null) return;
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    // What a killed bench left half written must not swallow the next line.
    if (text !== '' && !text.endsWith('\n')) appendFileSync(path, '\n');
    for (const line of text.split('\n')) {
      const entry = parsed(line);
      if (entry !== null) this.#known.set(entry.key, entry.value);
    }
    const before = this.#known.get('circumstances');
    if (before === undefined) this.#write('circumstances', circumstances);
    else if (before !== circumstances) {
      throw new Error(
        `${path} was begun under other circumstances (${String(before)}, now ${circumstances})`,
      );
    }
  }

  /** What is known under a key, or else what the work results in. */
  async once<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#known.has(key)) return this.#known.get(key) as T;
    const value = await work();
    this.#write(key, value);
    return value;
  }

  #write(key: string, value: unknown): void {
    this.#known.set(key, value);
    if (this.#path !== null) appendFileSync(this.#path, `${JSON.stringify({ key, value })}\n`);
  }
}

/** A bench that was killed may have left half a line. */
function parsed(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return null;
  }
}
