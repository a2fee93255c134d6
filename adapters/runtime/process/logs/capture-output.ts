import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { LogLine } from '../../../../core/contracts/runtime.ts'
import { createLineSplitter } from '../../../../lib/io/split-lines.ts'
import type { LogFiles } from './log-files.ts'

export interface Output {
  /** The last line that says something: under a stack trace, what the error is. Empty: none did. */
  readonly lastLine: () => string
  /** Resolves once everything it wrote is taken in; what processes it left keep open is closed after a while. */
  readonly end: () => Promise<void>
}

/** Of a line; the rest is told as further lines. */
const LINE_MAX_BYTES = 16 * 1024
/** What a copy may write within a window, so that one that floods its log leaves the rest of the machine alone. */
const WINDOW_MS = 100
const WINDOW_COST = 1_600_000
/** What a line costs beside its bytes. */
const LINE_COST = 256
const END_MS = 1000

/**
 * Writes what a process tells on its outputs to a log. It is read only as fast as that takes it, and up to some 60 000 lines or
 * 16 MB a second: a program that writes more waits meanwhile.
 *
 * @param onFlood it is being slowed down, told once.
 */
export function captureOutput(
  child: ChildProcess,
  instance: string,
  log: LogFiles,
  onFlood: () => void,
): Output {
  const streams = [child.stdout!, child.stderr!]
  let lastLine = ''
  let cost = 0
  let windowMs = 0
  let isFlooding = false

  /** How long nothing is to be read, milliseconds. */
  const toPauseMs = (taken: number): number => {
    const nowMs = performance.now()
    if (nowMs - windowMs >= WINDOW_MS) {
      windowMs = nowMs
      cost = 0
    }
    cost += taken
    return cost < WINDOW_COST ? 0 : windowMs + WINDOW_MS - nowMs
  }
  const pause = async (stream: Readable, ms: number) => {
    stream.pause()
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    await log.written()
    stream.resume()
  }
  const capture = (stream: Readable, name: LogLine['stream']) => {
    const splitter = createLineSplitter(LINE_MAX_BYTES)
    const take = (lines: readonly string[]) => {
      if (lines.length === 0) return
      lastLine = lines.findLast(isTelling) ?? lastLine
      log.append({ instance, stream: name }, lines)
    }
    stream.on('data', (chunk: Buffer) => {
      const lines = splitter.push(chunk)
      take(lines)
      const ms = toPauseMs(chunk.length + lines.length * LINE_COST)
      if (ms > 0 && !isFlooding) {
        isFlooding = true
        onFlood()
      }
      if (ms > 0 || log.isFull()) void pause(stream, ms)
    })
    // A pipe that broke has told all it will.
    stream.on('error', () => {})
    stream.once('close', () => take(splitter.end()))
  }
  capture(child.stdout!, 'stdout')
  capture(child.stderr!, 'stderr')
  const closed = Promise.all(streams.map((stream) => once(stream, 'close').catch(() => {})))

  return {
    lastLine: () => lastLine,
    async end() {
      const timer = setTimeout(() => {
        for (const stream of streams) stream.destroy()
      }, END_MS)
      await closed
      clearTimeout(timer)
      await log.written()
    },
  }
}

/** Not the frames of a stack, the rest of an object, or the version that Node writes below both. */
function isTelling(text: string): boolean {
  return /^[^\s}]/.test(text) && !text.startsWith('Node.js v')
}
