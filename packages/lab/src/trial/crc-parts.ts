/**
 * CRC-32 of bytes of which most are the same each time. It is linear: the checksum of `head` followed by `body` is that of
 * the head, advanced over as many zero bytes as the body has, exclusive-or the body's own.
 */
import { crc32 } from 'node:zlib';

/** Four tables of 256: what each byte of a word contributes. */
function tablesOf(ofBit: (bit: number) => number): Uint32Array {
  const tables = new Uint32Array(4 * 256);
  const bits = Array.from({ length: 32 }, (_, bit) => ofBit(bit));
  for (let byte = 0; byte < 4; byte += 1) {
    for (let value = 0; value < 256; value += 1) {
      let sum = 0;
      for (let bit = 0; bit < 8; bit += 1) if (((value >>> bit) & 1) === 1) sum ^= bits[byte * 8 + bit]!;
      tables[byte * 256 + value] = sum;
    }
  }
  return tables;
}

function lookUp(tables: Uint32Array, word: number): number {
  return (
    tables[word & 0xff]! ^
    tables[256 + ((word >>> 8) & 0xff)]! ^
    tables[512 + ((word >>> 16) & 0xff)]! ^
    tables[768 + (word >>> 24)]!
  );
}

/** Advances checksums over a number of zero bytes. */
export class ZeroShift {
  readonly #tables: Uint32Array;

  constructor(bytes: number) {
    const zeros = Buffer.alloc(bytes);
    const ofZero = crc32(zeros, 0);
    this.#tables = tablesOf((bit) => (crc32(zeros, (1 << bit) >>> 0) ^ ofZero) >>> 0);
  }

  apply(crc: number): number {
    return lookUp(this.#tables, crc);
  }
}

const overWord = new ZeroShift(4);

/** The CRC-32 of the words as little-endian bytes. */
export function crcOfWords(words: Uint32Array): number {
  let state = 0xffffffff;
  for (let index = 0; index < words.length; index += 1) state = overWord.apply(state ^ words[index]!);
  return ~state;
}
