/**
 * CRC-32 of messages that differ only in some words of their header. CRC-32 is linear: each word contributes its own part to
 * the checksum, whatever the other bytes are, so only the parts of words that have changed are computed.
 */
import { crc32 } from 'node:zlib';

/** The part of one word, by four tables of 256: what each of its bytes contributes. */
export class WordCrc {
  readonly #tables = new Uint32Array(4 * 256);

  /** `ofBit`: the difference (exclusive-or) between the checksums of a message with only this bit set and of one of zeros. */
  constructor(ofBit: (bit: number) => number) {
    const bits = Array.from({ length: 32 }, (_, bit) => ofBit(bit));
    for (let byte = 0; byte < 4; byte += 1) {
      for (let value = 0; value < 256; value += 1) {
        let sum = 0;
        for (let bit = 0; bit < 8; bit += 1) if (((value >>> bit) & 1) === 1) sum ^= bits[byte * 8 + bit]!;
        this.#tables[byte * 256 + value] = sum;
      }
    }
  }

  /** Returns the part of a word. XOR it with the parts of the other words and the checksum of the message without them. */
  of(word: number): number {
    const tables = this.#tables;
    return (
      tables[word & 0xff]! ^
      tables[256 + ((word >>> 8) & 0xff)]! ^
      tables[512 + ((word >>> 16) & 0xff)]! ^
      tables[768 + (word >>> 24)]!
    );
  }
}

/** The parts of the words of a header of `headerBytes`, little-endian, that `bodyBytes` follow. O(32 × bodyBytes). */
export function crcOfHeaderWords(headerBytes: number, bodyBytes: number): WordCrc[] {
  const body = Buffer.alloc(bodyBytes);
  const ofBody = crc32(body, 0);
  const pastBody = new WordCrc((bit) => crc32(body, (1 << bit) >>> 0) ^ ofBody);
  const ofHeader = crc32(Buffer.alloc(headerBytes));
  return Array.from({ length: headerBytes / 4 }, (_, index) => {
    const header = Buffer.alloc(headerBytes);
    return new WordCrc((bit) => {
      header.writeUInt32LE((1 << bit) >>> 0, index * 4);
      return pastBody.of(crc32(header) ^ ofHeader);
    });
  });
}
