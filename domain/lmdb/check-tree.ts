/** Reads a page. Returns undefined if the page is beyond the end of the file. */
export type ReadPage = (page: number) => Buffer | undefined

// MDB_page_header, MDB_node, MDB_db and MDB_ovpage in LMDB's `mdb.c`.
const FLAGS_AT = 18
const LOWER_AT = 20
const HEADER_BYTES = 24
const BRANCH = 0x01
const LEAF = 0x02
const NODE_BYTES = 8
const IS_LONG = 0x01
const IS_TABLE = 0x02
const ROOT_AT = 40
/** Root of an empty tree. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn

/**
 * Returns whether all pages reachable from the roots are inside the file. Free pages at the end may
 * be missing, because LMDB may never have written them.
 *
 * @param roots root pages of the trees.
 */
export function isIntact(roots: readonly bigint[], readPage: ReadPage, pages: number): boolean {
  const pending = roots.filter((root) => root !== NO_PAGE)
  // Each page has one parent, so visiting more pages than exist means that there is a cycle.
  for (let count = 0; pending.length > 0; count++) {
    const page = readPage(Number(pending.pop()))
    if (page === undefined || count > pages) return false
    const flags = page.readUInt16LE(FLAGS_AT)
    if ((flags & (BRANCH | LEAF)) === 0) return false
    const nodes = page.readUInt16LE(LOWER_AT) >>> 1
    for (let i = 0; i < nodes; i++) {
      const at = HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + i * 2)
      if ((flags & BRANCH) !== 0) {
        pending.push(BigInt(page.readUIntLE(at, 6)))
        continue
      }
      const valueAt = at + NODE_BYTES + page.readUInt16LE(at + 6)
      const kind = page.readUInt16LE(at + 4)
      if ((kind & IS_LONG) !== 0) {
        const end = page.readBigUInt64LE(valueAt) + page.readBigUInt64LE(valueAt + 16)
        if (end > BigInt(pages)) return false
      } else if ((kind & IS_TABLE) !== 0) {
        const root = page.readBigUInt64LE(valueAt + ROOT_AT)
        if (root !== NO_PAGE) pending.push(root)
      }
    }
  }
  return true
}
