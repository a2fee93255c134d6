/** Tables of every namespace that only one part of the server reads and writes, with the name of that part. */
const RESERVED_TABLES: ReadonlyMap<string, string> = new Map([
  ['acme', 'certificates'],
  ['auth', 'the service auth'],
  ['blobs', 'BlobStore'],
  ['blobs.loose', 'BlobStore'],
  ['blobs.parts', 'BlobStore'],
  ['config', 'the service config'],
  ['network', 'the service network'],
  ['runtime', 'the service runtime'],
])

/** The part of the server a table is reserved for, whatever its letter case; undefined: any caller may use it. */
export function findTableOwner(table: string): string | undefined {
  return RESERVED_TABLES.get(table.toLowerCase())
}
