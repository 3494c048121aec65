/** The results of a bench so far, one line of JSON each. With the same file an interrupted bench can be resumed. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

interface Entry {
  key: string;
  value: unknown;
}

export class Journal {
  readonly #path: string | null;
  readonly #known = new Map<string, unknown>();

  /** Without a path nothing is stored. Throws if the file belongs to a bench with different conditions. */
  constructor(path: string | null, circumstances: string) {
    this.#path = path;
    if (path === null) return;
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    // An incomplete line left by a killed bench must not be merged with the next line.
    if (text !== '' && !text.endsWith('\n')) appendFileSync(path, '\n');
    for (const line of text.split('\n')) {
      const entry = parsed(line);
      if (entry !== null) this.#known.set(entry.key, entry.value);
    }
    const before = this.#known.get('circumstances');
    if (before === undefined) this.#write('circumstances', circumstances);
    else if (before !== circumstances) {
      throw new Error(
        `${path} was started under different conditions (${String(before)}, now ${circumstances})`,
      );
    }
  }

  /** Returns the stored result of a key, or runs the work and stores its result. */
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

/** Skips an incomplete line left by a killed bench. */
function parsed(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return null;
  }
}
