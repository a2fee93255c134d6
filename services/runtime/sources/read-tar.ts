import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Parser, type ReadEntry } from 'tar'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'

const ID = 'runtime'
/** Maximum length of an extended header. */
const MAX_META_BYTES = 64 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
/** Magic bytes of compression formats that the parser would decompress itself. */
const COMPRESSED = [GZIP, ZSTANDARD]
const HEAD_BYTES = 4
/** Length of a header, and unit of content lengths (POSIX.1-2017, pax). */
const BLOCK_BYTES = 512
/**
 * Matches a record of an extended header whose path contains NUL, because the parser would truncate
 * the path.
 */
const NUL_PATH = /(?:^|\n)\d+ (?:link)?path=[^\n]*\0/

/**
 * Reads a tar archive, optionally gzipped, and yields each entry followed by its content. Reads on
 * demand. Only zeros may follow the end of the archive: other tools may read data that this
 * function would ignore.
 *
 * @param maxBytes maximum uncompressed length.
 * @throws {ServiceError} 400 if it is not an archive or data follows its end, 413 if it is too
 * large.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ReadEntry | Uint8Array> {
  const { head, all } = await peek(unzip(chunks))
  // The parser would decompress it without counting the bytes.
  if (COMPRESSED.some((magic) => magic.equals(head.subarray(0, magic.length))))
    throw badRequest(ID, 'not a tar archive: compressed more than once, or not with gzip')
  const parser = new Parser({ strict: true, maxMetaEntrySize: MAX_META_BYTES })
  let pending: (ReadEntry | Uint8Array)[] = []
  let failure: Error | undefined
  const add = (entry: ReadEntry): void => {
    pending.push(entry)
    entry.on('data', (bytes) => pending.push(bytes))
  }
  parser.on('entry', add)
  // An unknown type, or a header that is too long.
  parser.on('ignoredEntry', add)
  parser.on('error', (error: Error) => {
    failure ??= error
  })
  parser.on('meta', (text: string) => {
    if (NUL_PATH.test(text)) failure ??= new Error('a path contains a NUL character')
  })
  let isComplete = false
  parser.once('eof', () => {
    isComplete = true
  })
  const drain = (): (ReadEntry | Uint8Array)[] => {
    if (failure !== undefined) throw badRequest(ID, `not a tar archive: ${failure.message}`)
    const entries = pending
    pending = []
    return entries
  }

  let bytes = 0
  /**
   * Number of bytes until the end of the current header or content. The parser never receives the
   * end of the archive together with further data.
   */
  let remaining = BLOCK_BYTES
  let entry: ReadEntry | undefined
  parser.on('entry', (next) => {
    entry = next
  })
  for await (const chunk of all) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new ServiceError(
        ID,
        413,
        `the archive exceeds the limit of ${maxBytes} bytes, uncompressed`,
      )
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + remaining)
      at += part.length
      remaining -= part.length
      if (!isComplete) parser.write(part)
      else if (part.some((byte) => byte !== 0))
        throw badRequest(ID, 'data follows the end of the tar archive; create the archive again')
      if (remaining === 0) remaining = entry?.blockRemain || BLOCK_BYTES
    }
    yield* drain()
  }
  parser.end()
  yield* drain()
  if (!isComplete) throw badRequest(ID, 'the tar archive is truncated: its end is missing')
}

/** Decompresses a gzipped stream. Passes other data through. */
async function* unzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { head, all } = await peek(chunks)
  if (!GZIP.equals(head.subarray(0, GZIP.length))) {
    yield* all
    return
  }
  const source = Readable.from(all, { objectMode: false })
  const gunzip = createGunzip()
  // Upload errors are reported as they are, not as a corrupt archive.
  let uploadError: Error | undefined
  source.once('error', (error) => {
    uploadError = error
    gunzip.destroy(error)
  })
  try {
    yield* source.pipe(gunzip)
  } catch (error) {
    throw (
      uploadError ??
      badRequest(ID, `not a gzip archive: ${(error as Error).message}`, { cause: error })
    )
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

/** Returns the first bytes (fewer at the end of the stream) and the complete stream. */
async function peek(chunks: AsyncIterable<Uint8Array>) {
  const iterator = chunks[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < HEAD_BYTES) {
    const { done, value } = await iterator.next()
    if (done === true) break
    head = Buffer.concat([head, value])
  }
  return { head, all: prepend(head, iterator) }
}

async function* prepend(
  head: Uint8Array,
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield head
    for (;;) {
      const { done, value } = await iterator.next()
      if (done === true) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}
