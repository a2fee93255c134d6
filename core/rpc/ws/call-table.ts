/** Initial number of slots. Power of two. */
const SLOTS_MIN = 64
/**
 * Minimum size to which the table shrinks. Calls come in bursts, one per tick, and a smaller table would be rebuilt for
 * each burst.
 */
const SHRINK_MIN = 1024

/** 2^32 divided by the golden ratio, which spreads consecutive ids (Knuth, TAOCP 3, §6.4). */
const SPREAD = 0x9e3779b1

/**
 * Calls of a connection by stream id: a hash table with open addressing and no tombstones.
 *
 * A `Map` with frequent inserts and deletes is rebuilt repeatedly. With 100 000 calls in flight, this costs ten times
 * as much and blocks for 30 ms at a time. Micro-benchmark: `call-table`.
 */
export class CallTable<T> {
  size = 0
  #ids = new Int32Array(SLOTS_MIN)
  #calls: (T | undefined)[] = new Array(SLOTS_MIN).fill(undefined)
  /** Number of slots minus one. */
  #mask = SLOTS_MIN - 1
  /** 32 minus the number of bits in a slot number. */
  #shift = Math.clz32(SLOTS_MIN - 1)

  get(id: number): T | undefined {
    const ids = this.#ids
    const mask = this.#mask
    for (let i = Math.imul(id, SPREAD) >>> this.#shift; ids[i] !== 0; i = (i + 1) & mask) {
      if (ids[i] === id) return this.#calls[i]
    }
    return undefined
  }

  /** Adds a call under a new id from 1 to 2^31 - 1. */
  add(id: number, call: T): void {
    // At most half full, so that searches stay short.
    if (++this.size * 2 > this.#mask) this.#resize((this.#mask + 1) * 2)
    this.#put(id, call)
  }

  /** @returns true if the id was in the table. */
  delete(id: number): boolean {
    const ids = this.#ids
    const calls = this.#calls
    const mask = this.#mask
    let freeSlot = Math.imul(id, SPREAD) >>> this.#shift
    while (ids[freeSlot] !== id) {
      if (ids[freeSlot] === 0) return false
      freeSlot = (freeSlot + 1) & mask
    }
    // Moves following entries up, unless that would put them before their first slot.
    for (let i = (freeSlot + 1) & mask; ids[i] !== 0; i = (i + 1) & mask) {
      const first = Math.imul(ids[i]!, SPREAD) >>> this.#shift
      if (((i - first) & mask) < ((i - freeSlot) & mask)) continue
      ids[freeSlot] = ids[i]!
      calls[freeSlot] = calls[i]
      freeSlot = i
    }
    ids[freeSlot] = 0
    calls[freeSlot] = undefined
    this.size--
    // Shrinks after a burst, and only at an eighth, so that it does not immediately grow again.
    if (mask >= SHRINK_MIN && this.size * 8 < mask) this.#resize((mask + 1) / 2)
    return true
  }

  /** All calls, in the order of their ids. */
  list(): T[] {
    const ids = [...this.#ids].filter((id) => id !== 0)
    return ids.sort((a, b) => a - b).map((id) => this.get(id)!)
  }

  #put(id: number, call: T): void {
    let i = Math.imul(id, SPREAD) >>> this.#shift
    while (this.#ids[i] !== 0) i = (i + 1) & this.#mask
    this.#ids[i] = id
    this.#calls[i] = call
  }

  #resize(slots: number): void {
    const ids = this.#ids
    const calls = this.#calls
    this.#ids = new Int32Array(slots)
    this.#calls = new Array(slots).fill(undefined)
    this.#mask = slots - 1
    this.#shift = Math.clz32(slots - 1)
    for (let i = 0; i < ids.length; i++) if (ids[i] !== 0) this.#put(ids[i]!, calls[i]!)
  }
}
