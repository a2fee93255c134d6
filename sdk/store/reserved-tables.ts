/** Tables that are reserved in every namespace for one part of the server, with the name of that part. */
const RESERVED_TABLES: ReadonlyMap<string, string> = new Map([
  ['acme', 'certificates'],
  ['auth', 'the service auth'],
  ['blobs', 'BlobStore'],
  ['blobs.loose', 'BlobStore'],
  ['blobs.parts', 'BlobStore'],
  ['config', 'the service config'],
  ['gateway', 'the service api'],
  ['network', 'the service network'],
  ['runtime', 'the service runtime'],
])

/** Part of the server that a table is reserved for, in any letter case; undefined if it is not reserved. */
export function findTableOwner(table: string): string | undefined {
  return RESERVED_TABLES.get(table.toLowerCase())
}
