/** Smaller chunks are left to the garbage collector. */
const POOLED_MIN_BYTES = 16 * 1024
/** Size classes are powers of two, from the first one above {@link POOLED_MIN_BYTES} to 1 MiB. */
const CLASS_MIN = 15
const CLASS_MAX = 20
/** A page is divided into blocks of one class. Once all blocks are free, it may serve another class. */
const PAGE_BYTES = 2 ** CLASS_MAX
/**
 * Pages are allocated together: with many `ArrayBuffer`s, V8 runs a garbage collection step for each allocation, which
 * takes longer than copying a megabyte. A slab exceeds the heap threshold of glibc (32 MiB), so that freeing it returns
 * the memory to the system.
 */
const SLAB_PAGES = 33
/**
 * Retention time of unused slabs, since faulting in new pages costs several times as much as copying into warm ones.
 */
const IDLE_MS = 10_000
/**
 * Maximum number of slabs. Blocks that are never released pin their slabs; above this number, all slabs are left to the
 * garbage collector.
 */
const SLABS_MAX = 16

interface Page {
  readonly memory: Buffer
  /** Class of its blocks; -1 if not assigned yet. */
  classIndex: number
  blocks: Buffer[]
  /** Indexes of free blocks in {@link blocks}. */
  free: number[]
}

/** Pages of each slab by its memory. */
const slabs = new Map<ArrayBufferLike, readonly Page[]>()
const freePages: Page[] = []
/** Pages with a free block, by class. */
const partial: Page[][] = Array.from({ length: CLASS_MAX - CLASS_MIN + 1 }, () => [])
let isUsed = false
let idle: NodeJS.Timeout | undefined

/** Whether memory of this size is pooled. */
export function isPooled(size: number): boolean {
  return size >= POOLED_MIN_BYTES && size <= PAGE_BYTES
}

/**
 * Returns short-lived memory of at least `size` bytes, for example for a chunk of a request body.
 *
 * A fast upload needs hundreds of megabytes per second. The garbage collector frees them so late that the process would
 * grow by as much.
 */
export function acquireBuffer(size: number): Buffer {
  isUsed = true
  const index = classOf(size)
  const pages = partial[index]!
  if (pages.length === 0) pages.push(takePage(index))
  const page = pages[pages.length - 1]!
  const block = page.blocks[page.free.pop()!]!
  if (page.free.length === 0) pages.pop()
  return block
}

/** Copies `bytes`, into pooled memory if their size is pooled. */
export function copyToBuffer(bytes: Uint8Array): Uint8Array {
  if (!isPooled(bytes.length)) return Uint8Array.prototype.slice.call(bytes)
  const copy = acquireBuffer(bytes.length).subarray(0, bytes.length)
  copy.set(bytes)
  return copy
}

/** Releases memory from {@link acquireBuffer}, or a part that starts at its beginning. */
export function releaseBuffer(memory: Uint8Array): void {
  const page = slabs.get(memory.buffer)?.[Math.floor(memory.byteOffset / PAGE_BYTES)]
  // The slab has been released in the meantime.
  if (page === undefined) return
  const pages = partial[page.classIndex]!
  const index = (memory.byteOffset % PAGE_BYTES) / page.blocks[0]!.length
  if (page.free.push(index) === 1) pages.push(page)
  if (page.free.length < page.blocks.length) return
  pages.splice(pages.indexOf(page), 1)
  freePages.push(page)
}

/** Leaves all slabs to the garbage collector once their blocks are unused. */
function releaseSlabs(): void {
  slabs.clear()
  freePages.length = 0
  for (const pages of partial) pages.length = 0
  clearInterval(idle)
  idle = undefined
}

function takePage(index: number): Page {
  if (freePages.length === 0) addSlab()
  const page = freePages.pop()!
  const size = 2 ** (index + CLASS_MIN)
  if (page.classIndex !== index) {
    page.classIndex = index
    page.blocks = []
    page.free = []
    for (let at = 0; at < PAGE_BYTES; at += size) {
      page.free.push(page.blocks.length)
      page.blocks.push(page.memory.subarray(at, at + size))
    }
  }
  return page
}

function addSlab(): void {
  if (slabs.size === SLABS_MAX) releaseSlabs()
  const slab = Buffer.allocUnsafeSlow(SLAB_PAGES * PAGE_BYTES)
  const pages: Page[] = []
  for (let at = slab.length - PAGE_BYTES; at >= 0; at -= PAGE_BYTES) {
    const memory = slab.subarray(at, at + PAGE_BYTES)
    pages.unshift({ memory, classIndex: -1, blocks: [], free: [] })
    freePages.push(pages[0]!)
  }
  slabs.set(slab.buffer, pages)
  idle ??= setInterval(() => {
    if (!isUsed) releaseSlabs()
    isUsed = false
  }, IDLE_MS).unref()
}

function classOf(size: number): number {
  return Math.max(CLASS_MIN, 32 - Math.clz32(size - 1)) - CLASS_MIN
}
