import { type FileHandle, open } from 'node:fs/promises'
import type { LogLine, LogQuery } from '../../../../core/contracts/runtime.ts'
import { untilAborted } from '../../../../lib/async/timeout.ts'
import type { LogFilePosition, LogFiles } from './log-files.ts'
import { parseRecord } from './log-record.ts'

const CHUNK_BYTES = 64 * 1024
const LINE_FEED = 0x0a
const NOTHING = Buffer.alloc(0)

/**
 * Reads the lines of a log selected by {@link LogQuery}. A reader slower than the rotation misses
 * deleted lines.
 */
export async function* readLog(log: LogFiles, query: LogQuery): AsyncGenerator<LogLine> {
  const { lines, sinceMs = 0, follow, signal } = query
  await log.written()
  let at = lines === undefined ? { file: 0, offset: 0 } : await findLast(log, lines)
  for (;;) {
    const end = log.end()
    for (const file of log.list().filter((number) => number >= at.file && number <= end.file)) {
      const from = file === at.file ? at.offset : 0
      const to = file === end.file ? end.offset : Number.POSITIVE_INFINITY
      for await (const records of readRecords(log.toPath(file), from, to)) {
        for (const record of records) {
          if (signal.aborted) return
          const line = parseRecord(record)
          if (line !== undefined && line.timestampMs >= sinceMs) yield line
        }
      }
    }
    at = end
    if (!follow || signal.aborted) return
    if (isBehind(log.end(), at)) continue
    if (log.isClosed()) return
    await untilAborted(log.changed(), signal)
  }
}

function isBehind(a: LogFilePosition, b: LogFilePosition): boolean {
  return a.file > b.file || (a.file === b.file && a.offset > b.offset)
}

/** Returns the position of the last `lines` lines. */
async function findLast(log: LogFiles, lines: number): Promise<LogFilePosition> {
  const end = log.end()
  if (lines === 0) return end
  let remaining = lines
  let start = end
  for (const file of log.list().toReversed()) {
    const handle = await openFile(log.toPath(file))
    if (handle === undefined) break
    try {
      let offset = file === end.file ? end.offset : (await handle.stat()).size
      while (offset > 0) {
        const from = Math.max(0, offset - CHUNK_BYTES)
        const chunk = await readChunk(handle, from, offset - from)
        for (
          let at = chunk.lastIndexOf(LINE_FEED);
          at >= 0;
          at = at === 0 ? -1 : chunk.lastIndexOf(LINE_FEED, at - 1)
        ) {
          // The line feed before the first requested line ends the search.
          if (remaining-- === 0) return { file, offset: from + at + 1 }
        }
        offset = from
      }
      start = { file, offset: 0 }
      // The first line of a file has no line feed before it.
      if (remaining === 0) return start
    } finally {
      await handle.close()
    }
  }
  return start
}

/** Yields batches, because a generator step per line is expensive. */
async function* readRecords(
  path: string,
  from: number,
  to: number,
): AsyncGenerator<readonly string[]> {
  const handle = await openFile(path)
  if (handle === undefined) return
  try {
    let rest: Buffer = NOTHING
    for (let offset = from; offset < to; ) {
      const chunk = await readChunk(handle, offset, Math.min(CHUNK_BYTES, to - offset))
      if (chunk.length === 0) return
      offset += chunk.length
      const bytes = Buffer.concat([rest, chunk])
      const end = bytes.lastIndexOf(LINE_FEED) + 1
      rest = bytes.subarray(end)
      if (end > 0) yield bytes.toString('utf8', 0, end - 1).split('\n')
    }
  } finally {
    await handle.close()
  }
}

/** Returns undefined if the file was deleted by rotation. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function readChunk(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  const { bytesRead } = await handle.read(buffer, 0, length, from)
  return buffer.subarray(0, bytesRead)
}
