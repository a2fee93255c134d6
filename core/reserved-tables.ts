/** Tables of the store that built-in services keep their own things in, of every namespace, and whose they are. */
export const RESERVED_TABLES: ReadonlyMap<string, string> = new Map([
  ['acme', 'certificates'],
  ['auth', 'the service auth'],
  ['blobs', 'BlobStore'],
  ['blobs.loose', 'BlobStore'],
  ['blobs.parts', 'BlobStore'],
  ['config', 'the service config'],
  ['runtime', 'the service runtime'],
])
