import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogLine } from '../../../../core/contracts/runtime.ts'
import { formatRecords } from './log-record.ts'

/** How much of the lines of a workload is kept. */
export interface LogRoom {
  /** Of one file; a file that has reached it is followed by another. */
  readonly fileBytes: number
  /** Files; the oldest goes. */
  readonly files: number
}

/** A place in a log. */
export interface LogPlace {
  /** Number of the file. */
  readonly file: number
  /** Bytes before it in the file. */
  readonly offset: number
}

/** The lines of a workload, in files. */
export interface LogFiles {
  /** Adds lines of now; their time is never before that of those before. */
  readonly append: (from: Pick<LogLine, 'instance' | 'stream'>, texts: readonly string[]) => void
  /** Whether so much waits to be written that no more should be read from those who write. */
  readonly isFull: () => boolean
  /** Resolves once what was added is written, or could not be. */
  readonly written: () => Promise<void>
  /** Behind the last line that is written. */
  readonly end: () => LogPlace
  /** Resolves with the next line that is written, or at the end of the log. */
  readonly changed: () => Promise<void>
  readonly isClosed: () => boolean
  /** Numbers of the files that are there, oldest first. */
  readonly list: () => readonly number[]
  readonly toPath: (file: number) => string
  /** Writes what waits, and tells followers that nothing comes any more. */
  readonly close: () => Promise<void>
}

/** Characters that wait to be written. */
const MAX_WAITING = 1024 * 1024
const NAME = /^(\d{10})\.log$/
const LINE_FEED = 0x0a
/** More than any line has. */
const TAIL_BYTES = 64 * 1024

/**
 * Opens the log of a folder, which is made with its first line; goes on behind what is there.
 *
 * @param onError writing has begun to fail; lines are lost until it works again.
 */
export function openLogFiles(
  folder: string,
  room: LogRoom,
  onError: (error: Error) => void,
): LogFiles {
  let files = listFiles(folder)
  let number = files.at(-1) ?? 1
  let offset = files.length === 0 ? 0 : statSync(toPath(number)).size
  let handle: FileHandle | undefined
  let waiting = ''
  let lastMs = 0
  let writing: Promise<void> | undefined
  let isTroubled = false
  let isClosed = false
  let waiters: (() => void)[] = []

  function toPath(file: number): string {
    return join(folder, `${String(file).padStart(10, '0')}.log`)
  }

  async function openFile(): Promise<FileHandle> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const opened = await open(toPath(number), 'a+', 0o600)
    if (files.at(-1) !== number) files = [...files, number]
    offset = await cutTorn(opened, offset)
    return opened
  }

  async function rotate(): Promise<void> {
    await handle?.close()
    handle = undefined
    number++
    offset = 0
    const old = files.slice(0, Math.max(0, files.length + 1 - room.files))
    files = files.slice(old.length)
    await Promise.all(old.map((file) => rm(toPath(file), { force: true })))
  }

  function tellChange(): void {
    const told = waiters
    waiters = []
    for (const tell of told) tell()
  }

  async function writeWaiting(): Promise<void> {
    // What is added in one turn is written in one piece.
    await undefined
    while (waiting !== '') {
      const bytes = Buffer.from(waiting)
      waiting = ''
      try {
        if (offset >= room.fileBytes) await rotate()
        handle ??= await openFile()
        await handle.appendFile(bytes)
        offset += bytes.length
        isTroubled = false
      } catch (error) {
        // A part of it may be there.
        await handle?.truncate(offset).catch(() => {})
        if (!isTroubled) onError(error as Error)
        isTroubled = true
      }
      tellChange()
    }
    writing = undefined
  }

  return {
    append(from, texts) {
      lastMs = Math.max(lastMs, Date.now())
      waiting += formatRecords({ ...from, timestampMs: lastMs }, texts)
      writing ??= writeWaiting()
    },
    isFull: () => waiting.length > MAX_WAITING,
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
      tellChange()
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

/** Where the machine stopped in the midst of a line, the next is not to be part of it. Returns the size of what is left. */
async function cutTorn(handle: FileHandle, size: number): Promise<number> {
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  await handle.read(tail, 0, tail.length, size - tail.length)
  const torn = tail.length - 1 - tail.lastIndexOf(LINE_FEED)
  if (torn > 0) await handle.truncate(size - torn)
  return size - torn
}
