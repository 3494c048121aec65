/** Reads the body of a frame field by field. Every read past its end throws `PROTOCOL_INVALID`. */
import { protocolError } from './protocol.ts';

export class BodyReader {
  readonly source: Buffer;
  readonly end: number;
  offset: number;

  constructor(source: Buffer, start: number, end: number) {
    this.source = source;
    this.offset = start;
    this.end = end;
  }

  get bytesLeft(): number {
    return this.end - this.offset;
  }

  /** Advances by `bytes` and returns the offset before. */
  skip(bytes: number): number {
    const { offset } = this;
    if (bytes > this.end - offset) throw protocolError('A frame ends within a field');
    this.offset = offset + bytes;
    return offset;
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

  /** The rest of the body, as UTF-8. */
  remainingText(): string {
    const start = this.skip(this.bytesLeft);
    return this.source.toString('utf8', start, this.end);
  }

  assertEnd(): void {
    if (this.offset !== this.end)
      throw protocolError(`A frame has ${this.bytesLeft} unexpected bytes at its end`);
  }
}
