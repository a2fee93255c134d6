import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Parser, type ReadEntry } from 'tar'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'

const ID = 'runtime'
/** The longest header of a name or of attributes. */
const MAX_META_BYTES = 64 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
/** How archives begin that the parser unpacks on its own. */
const PACKED = [GZIP, ZSTANDARD]
const HEAD_BYTES = 4
/** Length of a header, and unit of contents (POSIX.1-2017, pax). */
const BLOCK_BYTES = 512
/** A record of an extended header whose path has a NUL: the parser would cut the path there. */
const CUT_PATH = /(?:^|\n)\d+ (?:link)?path=[^\n]*\0/

/**
 * Reads a tar archive, gzipped or not: every entry followed by its content. No more of it is read than was taken. Only zeros may follow
 * its end: other tools may read what this one would ignore.
 *
 * @param maxBytes longest archive, unzipped.
 * @throws {ServiceError} 400 when it is none, or data follow its end, 413 when it is too long.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ReadEntry | Uint8Array> {
  const { head, all } = await peek(unzip(chunks))
  // The parser would unzip it as well, and more of it than is counted here.
  if (PACKED.some((magic) => magic.equals(head.subarray(0, magic.length))))
    throw badRequest(ID, 'no tar archive: it was packed more than once, or not by gzip')
  const parser = new Parser({ strict: true, maxMetaEntrySize: MAX_META_BYTES })
  let found: (ReadEntry | Uint8Array)[] = []
  let failure: Error | undefined
  const add = (entry: ReadEntry): void => {
    found.push(entry)
    entry.on('data', (bytes) => found.push(bytes))
  }
  parser.on('entry', add)
  // Of a kind it does not know, or with a longer header.
  parser.on('ignoredEntry', add)
  parser.on('error', (error: Error) => {
    failure ??= error
  })
  parser.on('meta', (text: string) => {
    if (CUT_PATH.test(text)) failure ??= new Error('a path has a NUL character')
  })
  let isWhole = false
  parser.once('eof', () => {
    isWhole = true
  })
  const take = (): (ReadEntry | Uint8Array)[] => {
    if (failure !== undefined) throw badRequest(ID, `no tar archive: ${failure.message}`)
    const taken = found
    found = []
    return taken
  }

  let bytes = 0
  /** Bytes up to the end of the header or content that the parser is in: it never gets the end of the archive and more at once. */
  let left = BLOCK_BYTES
  let entry: ReadEntry | undefined
  parser.on('entry', (next) => {
    entry = next
  })
  for await (const chunk of all) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new ServiceError(ID, 413, `an archive may have ${maxBytes} bytes at most, unzipped`)
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + left)
      at += part.length
      left -= part.length
      if (!isWhole) parser.write(part)
      else if (part.some((byte) => byte !== 0))
        throw badRequest(ID, 'data follow the end of the tar archive: pack it again')
      if (left === 0) left = entry?.blockRemain || BLOCK_BYTES
    }
    yield* take()
  }
  parser.end()
  yield* take()
  if (!isWhole) throw badRequest(ID, 'the tar archive was cut off: its end is missing')
}

/** The same bytes, or what was gzipped. */
async function* unzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { head, all } = await peek(chunks)
  if (!GZIP.equals(head.subarray(0, GZIP.length))) {
    yield* all
    return
  }
  const source = Readable.from(all, { objectMode: false })
  const gunzip = createGunzip()
  // What fails while it is sent is told as it is, not as a broken archive.
  let cut: Error | undefined
  source.once('error', (error) => {
    cut = error
    gunzip.destroy(error)
  })
  try {
    yield* source.pipe(gunzip)
  } catch (error) {
    throw cut ?? badRequest(ID, `no gzip archive: ${(error as Error).message}`, { cause: error })
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

/** The first bytes, if there are as many, and all of them. */
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
