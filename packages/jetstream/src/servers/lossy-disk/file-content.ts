/** The bytes of a file: those written, and those synced. Only the synced ones survive a power cut. */

const pageBytes = 4096;

export class FileContent {
  #size = 0;
  #pages = new Map<number, Buffer>();
  #syncedSize = 0;
  /** Shares pages with `#pages`: a write to a shared page copies it. */
  readonly #synced = new Map<number, Buffer>();
  /** Pages that were written or removed since the last sync. */
  readonly #changed = new Set<number>();

  get size(): number {
    return this.#size;
  }

  /** Reads up to `bytes` bytes, fewer at the end of the file. */
  read(offset: number, bytes: number): Buffer {
    const length = Math.max(0, Math.min(bytes, this.#size - offset));
    const read = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const within = (offset + done) % pageBytes;
      const part = Math.min(length - done, pageBytes - within);
      this.#pages.get((offset + done - within) / pageBytes)?.copy(read, done, within, within + part);
      done += part;
    }
    return read;
  }

  write(offset: number, bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      const within = (offset + done) % pageBytes;
      const part = Math.min(bytes.length - done, pageBytes - within);
      bytes.copy(this.#ownPage((offset + done - within) / pageBytes), within, done, done + part);
      done += part;
    }
    this.#size = Math.max(this.#size, offset + bytes.length);
  }

  /** Cuts the file off, or extends it by zeros. */
  resize(size: number): void {
    if (size < this.#size) {
      const kept = Math.ceil(size / pageBytes);
      for (const page of [...this.#pages.keys()].filter((number) => number >= kept)) {
        this.#pages.delete(page);
        this.#changed.add(page);
      }
      if (size % pageBytes > 0) this.#ownPage(kept - 1).fill(0, size % pageBytes);
    }
    this.#size = size;
  }

  sync(): void {
    for (const number of this.#changed) {
      const page = this.#pages.get(number);
      if (page === undefined) this.#synced.delete(number);
      else this.#synced.set(number, page);
    }
    this.#changed.clear();
    this.#syncedSize = this.#size;
  }

  forgetUnsynced(): void {
    for (const number of this.#changed) {
      const page = this.#synced.get(number);
      if (page === undefined) this.#pages.delete(number);
      else this.#pages.set(number, page);
    }
    this.#changed.clear();
    this.#size = this.#syncedSize;
  }

  #ownPage(number: number): Buffer {
    this.#changed.add(number);
    const page = this.#pages.get(number);
    if (page !== undefined && page !== this.#synced.get(number)) return page;
    const own = Buffer.alloc(pageBytes);
    page?.copy(own);
    this.#pages.set(number, own);
    return own;
  }
}
