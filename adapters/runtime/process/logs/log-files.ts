import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogLine } from '../../../../core/contracts/runtime.ts'
import { formatRecords } from './log-record.ts'

/** Retention of a workload's log. */
export interface LogRetention {
  /** Size at which a file is rotated. */
  readonly fileBytes: number
  /** Maximum number of files; the oldest is deleted. */
  readonly files: number
}

export interface LogFilePosition {
  readonly file: number
  /** Number of bytes before the position in the file. */
  readonly offset: number
}

/** Log of a workload in rotated files. */
export interface LogFiles {
  /** Appends lines with the current time, which never decreases. */
  readonly append: (from: Pick<LogLine, 'instance' | 'stream'>, texts: readonly string[]) => void
  /** Returns whether the buffer is full, so that reading from the writers should pause. */
  readonly isFull: () => boolean
  /** Resolves when all appended lines have been written or have failed. */
  readonly written: () => Promise<void>
  /** Returns the position after the last written line. */
  readonly end: () => LogFilePosition
  /** Resolves with the next written line, or when the log is closed. */
  readonly changed: () => Promise<void>
  readonly isClosed: () => boolean
  /** Numbers of the existing files, oldest first. */
  readonly list: () => readonly number[]
  readonly toPath: (file: number) => string
  /** Flushes the buffer and ends all followers. */
  readonly close: () => Promise<void>
}

/** Number of buffered characters at which `isFull` returns true. */
const MAX_BUFFERED = 1024 * 1024
const NAME = /^(\d{10})\.log$/
const LINE_FEED = 0x0a
/** Exceeds the length of any line. */
const TAIL_BYTES = 64 * 1024

/**
 * Opens the log in a folder for appending. The folder is created with the first line.
 *
 * @param onError called when writes start to fail; lines are lost until writes succeed again.
 */
export function openLogFiles(
  folder: string,
  retention: LogRetention,
  onError: (error: Error) => void,
): LogFiles {
  let files = listFiles(folder)
  let number = files.at(-1) ?? 1
  let offset = files.length === 0 ? 0 : statSync(toPath(number)).size
  let handle: FileHandle | undefined
  let buffer = ''
  let lastMs = 0
  let writing: Promise<void> | undefined
  let isFailing = false
  let isClosed = false
  let waiters: (() => void)[] = []

  function toPath(file: number): string {
    return join(folder, `${String(file).padStart(10, '0')}.log`)
  }

  async function openFile(): Promise<FileHandle> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const opened = await open(toPath(number), 'a+', 0o600)
    if (files.at(-1) !== number) files = [...files, number]
    offset = await truncatePartialLine(opened, offset)
    return opened
  }

  async function rotate(): Promise<void> {
    await handle?.close()
    handle = undefined
    number++
    offset = 0
    const old = files.slice(0, Math.max(0, files.length + 1 - retention.files))
    files = files.slice(old.length)
    await Promise.all(old.map((file) => rm(toPath(file), { force: true })))
  }

  function notifyChange(): void {
    const resolvers = waiters
    waiters = []
    for (const notify of resolvers) notify()
  }

  async function writeBuffer(): Promise<void> {
    // Lines appended in the same tick are written together.
    await undefined
    while (buffer !== '') {
      const bytes = Buffer.from(buffer)
      buffer = ''
      try {
        if (offset >= retention.fileBytes) await rotate()
        handle ??= await openFile()
        await handle.appendFile(bytes)
        offset += bytes.length
        isFailing = false
      } catch (error) {
        // Removes a partial write.
        await handle?.truncate(offset).catch(() => {})
        if (!isFailing) onError(error as Error)
        isFailing = true
      }
      notifyChange()
    }
    writing = undefined
  }

  return {
    append(from, texts) {
      lastMs = Math.max(lastMs, Date.now())
      buffer += formatRecords({ ...from, timestampMs: lastMs }, texts)
      writing ??= writeBuffer()
    },
    isFull: () => buffer.length > MAX_BUFFERED,
    written: async () => writing,
    end: () => ({ file: number, offset }),
    changed: () => (isClosed ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    isClosed: () => isClosed,
    list: () => files,
    toPath,
    async close() {
      await writing
      isClosed = true
      await handle?.close()
      handle = undefined
      notifyChange()
    },
  }
}

function listFiles(folder: string): readonly number[] {
  try {
    const names = readdirSync(folder)
    return names
      .flatMap((name) => NAME.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
  } catch {
    return []
  }
}

/** Truncates a partial last line left by a machine crash. Returns the remaining size. */
async function truncatePartialLine(handle: FileHandle, size: number): Promise<number> {
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  await handle.read(tail, 0, tail.length, size - tail.length)
  const partial = tail.length - 1 - tail.lastIndexOf(LINE_FEED)
  if (partial > 0) await handle.truncate(size - partial)
  return size - partial
}
