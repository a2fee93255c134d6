import { close, constants, openSync, write } from 'node:fs'

export interface LineWriterOptions {
  /** File to append to, created with mode 0640, or `stdout` or `stderr`. */
  readonly target: string
  /** Called when the target fails, or (without an error) when lines are dropped because it is slow. */
  readonly onError: (error: Error | undefined) => void
  /** Called when the target accepts lines again or the writer closes. `dropped` is the number of lost lines. */
  readonly onRecover: (dropped: number) => void
  /** Maximum time that a line is buffered, in milliseconds. @default 100 */
  readonly flushMs?: number
  /** Number of buffered characters that triggers a write. @default 65536 */
  readonly flushChars?: number
  /** Maximum buffered characters while the target is slow; further lines are dropped and counted. @default 4194304 */
  readonly maxChars?: number
}

/** Buffered writer for text lines, which writes in batches off the main thread. */
export interface LineWriter {
  /** Queues an ASCII line, including its line feed. */
  readonly write: (line: string) => void
  /** Writes queued lines, then closes the file. Closes it anyway if the target accepts nothing for a second. */
  readonly close: () => Promise<void>
}

const STANDARD: Readonly<Record<string, number>> = { stdout: 1, stderr: 2 }
/** Without O_NONBLOCK, opening a named pipe without a reader would block the process. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
const LINE_FEED = 0x0a
const RETRY_MS = 10
const CLOSE_MS = 1000

/**
 * Opens a file or a standard stream for lines.
 *
 * A blocking target occupies a thread of the libuv pool, never the event loop. A pipe whose reader has ended (EPIPE)
 * ends the writing, not the process.
 *
 * @throws {Error} with the path if the file cannot be opened.
 */
export function createLineWriter(options: LineWriterOptions): LineWriter {
  const {
    target,
    onError,
    onRecover,
    flushMs = 100,
    flushChars = 64 * 1024,
    maxChars = 4 * 1024 * 1024,
  } = options
  const standard = STANDARD[target]
  const fd = standard ?? openSync(target, FLAGS, 0o640)
  let queued = ''
  let writing = false
  let broken = false
  let hasFailed = false
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let onIdle: (() => void) | undefined

  const fail = (error: Error | undefined) => {
    if (hasFailed) return
    hasFailed = true
    onError(error)
  }
  const recover = () => {
    if (!hasFailed) return
    hasFailed = false
    onRecover(dropped)
    dropped = 0
  }
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (writing || queued === '') return
    writing = true
    const bytes = Buffer.from(queued, 'latin1')
    queued = ''
    send(bytes)
  }
  const send = (bytes: Buffer) => {
    write(fd, bytes, (error, count) => {
      if (error?.code === 'EAGAIN') return void setTimeout(send, RETRY_MS, bytes)
      if (error === null && count < bytes.length) return send(bytes.subarray(count))
      writing = false
      if (error === null) {
        if (queued.length < maxChars) recover()
      } else {
        broken = error.code === 'EPIPE'
        dropped += countLines(bytes)
        fail(error)
      }
      if (queued === '') onIdle?.()
      else if (queued.length >= flushChars || onIdle !== undefined) flush()
      else timer ??= setTimeout(flush, flushMs).unref()
    })
  }
  return {
    write(line) {
      if (broken || queued.length + line.length > maxChars) {
        dropped++
        return fail(undefined)
      }
      queued += line
      if (queued.length >= flushChars) flush()
      else timer ??= setTimeout(flush, flushMs).unref()
    },
    async close() {
      flush()
      if (writing) {
        let timeout: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          onIdle = resolve
          timeout = setTimeout(resolve, CLOSE_MS)
        })
        clearTimeout(timeout)
      }
      recover()
      // A file that is still being written must stay open, since its descriptor could be reused for another file.
      if (standard === undefined && !writing)
        await new Promise<void>((resolve) => close(fd, () => resolve()))
    },
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}
