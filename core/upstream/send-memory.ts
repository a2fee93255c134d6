/** Pieces shorter than this are left to the garbage collector. */
const POOLED_MIN_BYTES = 16 * 1024
/** Size classes are powers of two, from the first above {@link POOLED_MIN_BYTES} to 1 MiB. */
const CLASS_MIN = 15
const CLASS_MAX = 20
/** Most bytes kept for reuse. */
const SPARE_MAX_BYTES = 8 * 1024 * 1024

const spare: Buffer[][] = Array.from({ length: CLASS_MAX - CLASS_MIN + 1 }, () => [])
let spareBytes = 0

/** Whether memory of this size comes from {@link takeMemory} and goes back to it. */
export function isPooled(size: number): boolean {
  return size >= POOLED_MIN_BYTES && size <= 2 ** CLASS_MAX
}

/**
 * Memory for what is read or sent in a moment, as a piece of a request body on its way to a backend; at least `size` bytes.
 *
 * A fast upload needs hundreds of megabytes of it a second, which the garbage collector
 * frees so late that the process grows by as much.
 */
export function takeMemory(size: number): Buffer {
  const index = classOf(size)
  const memory = spare[index]!.pop()
  if (memory === undefined) return Buffer.allocUnsafeSlow(2 ** (index + CLASS_MIN))
  spareBytes -= memory.length
  return memory
}

/** Takes back memory nobody reads any more. */
export function returnMemory(memory: Buffer): void {
  if (spareBytes + memory.length > SPARE_MAX_BYTES) return
  spareBytes += memory.length
  spare[classOf(memory.length)]!.push(memory)
}

function classOf(size: number): number {
  return Math.max(CLASS_MIN, 32 - Math.clz32(size - 1)) - CLASS_MIN
}
