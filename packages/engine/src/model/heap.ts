/**
 * A binary heap: the first of its items is at hand, and adding or removing one takes O(log n) steps. Of the heaps on npm those
 * that are small and kept up (`tinyqueue`) cannot remove an item early, and those that can (`heap-js`) search all items for it.
 */
export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #isBefore: (a: Item, b: Item) => boolean;
  readonly #onPlaced: ((item: Item, index: number) => void) | undefined;

  /** `onPlaced`: told the index of an item whenever it changes, for `removeAt` and `reorderAt`; -1 once the item is in no heap. */
  constructor(isBefore: (a: Item, b: Item) => boolean, onPlaced?: (item: Item, index: number) => void) {
    this.#isBefore = isBefore;
    this.#onPlaced = onPlaced;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** In no particular order. */
  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  /** Removes and returns the first item. */
  removeFirst(): Item | undefined {
    return this.#items.length === 0 ? undefined : this.removeAt(0);
  }

  removeAt(index: number): Item {
    const item = this.#items[index]!;
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[index] = last;
      this.reorderAt(index);
    }
    this.#onPlaced?.(item, -1);
    return item;
  }

  /** The item may now come before or after others. */
  reorderAt(index: number): void {
    const item = this.#items[index]!;
    this.#sink(item, this.#rise(item, index));
  }

  #place(item: Item, index: number): void {
    this.#items[index] = item;
    this.#onPlaced?.(item, index);
  }

  #rise(item: Item, from: number): number {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(item, this.#items[parent]!)) break;
      this.#place(this.#items[parent]!, index);
      index = parent;
    }
    this.#place(item, index);
    return index;
  }

  #sink(item: Item, from: number): void {
    const { length } = this.#items;
    let index = from;
    for (let child = 1 + 2 * index; child < length; child = 1 + 2 * index) {
      if (child + 1 < length && this.#isBefore(this.#items[child + 1]!, this.#items[child]!)) child += 1;
      if (!this.#isBefore(this.#items[child]!, item)) break;
      this.#place(this.#items[child]!, index);
      index = child;
    }
    if (index !== from) this.#place(item, index);
  }
}
