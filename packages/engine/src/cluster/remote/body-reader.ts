/** Reads the body of a frame field by field. What goes beyond its end is `PROTOCOL_INVALID`. */
import { protocolError } from './protocol.ts';

export class BodyReader {
  readonly source: Buffer;
  readonly end: number;
  at: number;

  constructor(source: Buffer, start: number, end: number) {
    this.source = source;
    this.at = start;
    this.end = end;
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Moves on by `bytes` and returns where they start. */
  skip(bytes: number): number {
    const { at } = this;
    if (bytes > this.end - at) throw protocolError('A frame ends within a field');
    this.at = at + bytes;
    return at;
  }

  u8(): number {
    return this.source[this.skip(1)]!;
  }

  u16(): number {
    return this.source.readUInt16LE(this.skip(2));
  }

  u32(): number {
    return this.source.readUInt32LE(this.skip(4));
  }

  f64(): number {
    return this.source.readDoubleLE(this.skip(8));
  }

  /** A name or a receipt. */
  text(): string {
    return this.utf8(this.u16());
  }

  utf8(bytes: number): string {
    const start = this.skip(bytes);
    return this.source.toString('utf8', start, start + bytes);
  }

  /** All that is left, as UTF-8. */
  rest(): string {
    const start = this.skip(this.left);
    return this.source.toString('utf8', start, this.end);
  }

  assertEnd(): void {
    if (this.at !== this.end) throw protocolError(`A frame has ${this.left} bytes too many`);
  }
}
