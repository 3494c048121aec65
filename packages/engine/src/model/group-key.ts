/** The shard of a group key: messages of one key are in one shard, in every process and after every restart. */

/** FNV-1a over UTF-16 code units, 32 bits; the shard is its remainder by the number of shards. */
export function hashGroupKey(key: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
