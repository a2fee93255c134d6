import { Pack, type WriteEntry } from 'tar'
import type { ProjectFile } from './list-files.ts'

/** Chunk size; each chunk is one message. */
const CHUNK_BYTES = 256 * 1024

/**
 * Packs files and empty folders into a compressed archive, in chunks of 256 kB. Links are replaced with their targets.
 *
 * @param root absolute path of the files
 * @param onFile called for each file
 */
export async function* pack(
  root: string,
  files: readonly ProjectFile[],
  onFile: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const archive = new Pack({
    cwd: root,
    follow: true,
    noDirRecurse: true,
    portable: true,
    gzip: { level: 1 },
    // Otherwise, files with hard links would be archived as links.
    linkCache: new NoLinks(),
    onWriteEntry: ({ stat }: WriteEntry) => onFile(stat?.isFile() === true ? stat.size : 0),
  })
  for (const { path } of files) archive.add(path)
  archive.end()
  let chunks: Buffer[] = []
  let length = 0
  for await (const chunk of archive as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length < CHUNK_BYTES) continue
    yield Buffer.concat(chunks)
    chunks = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(chunks)
}

class NoLinks extends Map<`${number}:${number}`, string> {
  override set(): this {
    return this
  }
}
