/** Room for message records, cut from large buffers one after another: one allocation serves hundreds of messages. */

const slabBytes = 256 * 1024;

export class Slab {
  #buffer = Buffer.allocUnsafeSlow(slabBytes);
  #used = 0;

  /** A buffer with `bytes` free from `start` on. Claim what was written with `claim` before reserving again. */
  reserve(bytes: number): { buffer: Buffer; start: number } {
    if (bytes > slabBytes / 4) return { buffer: Buffer.allocUnsafeSlow(bytes), start: 0 };
    if (this.#used + bytes > slabBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    return { buffer: this.#buffer, start: this.#used };
  }

  claim(buffer: Buffer, end: number): void {
    if (buffer === this.#buffer) this.#used = end;
  }
}
