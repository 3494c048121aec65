/**
 * The calendar of the simulation: events by time in a binary heap over two typed arrays (J. W. J. Williams, 1964).
 * An event is one whole number; an object for each would cost more than the heap itself.
 */
export class EventHeap {
  #times: Float64Array;
  #codes: Int32Array;
  #size = 0;
  /** Time of the event that `pop` took last. */
  poppedAt = 0;

  constructor(capacity: number) {
    this.#times = new Float64Array(Math.max(capacity, 16));
    this.#codes = new Int32Array(this.#times.length);
  }

  get size(): number {
    return this.#size;
  }

  /** Time of the earliest event; infinite if there is none. */
  get nextAt(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#times[0]!;
  }

  push(at: number, code: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const times = this.#times;
    const codes = this.#codes;
    let slot = this.#size++;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      if (times[parent]! <= at) break;
      times[slot] = times[parent]!;
      codes[slot] = codes[parent]!;
      slot = parent;
    }
    times[slot] = at;
    codes[slot] = code;
  }

  /** Takes the earliest event, or -1 of none. Events of one time come in an order that depends on nothing but the pushes. */
  pop(): number {
    if (this.#size === 0) return -1;
    const times = this.#times;
    const codes = this.#codes;
    const first = codes[0]!;
    this.poppedAt = times[0]!;
    const size = --this.#size;
    const at = times[size]!;
    const code = codes[size]!;
    let slot = 0;
    for (;;) {
      let child = 2 * slot + 1;
      if (child >= size) break;
      if (child + 1 < size && times[child + 1]! < times[child]!) child += 1;
      if (at <= times[child]!) break;
      times[slot] = times[child]!;
      codes[slot] = codes[child]!;
      slot = child;
    }
    times[slot] = at;
    codes[slot] = code;
    return first;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const codes = new Int32Array(times.length);
    times.set(this.#times);
    codes.set(this.#codes);
    this.#times = times;
    this.#codes = codes;
  }
}
