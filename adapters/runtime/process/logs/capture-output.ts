import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { LogLine } from '../../../../core/contracts/runtime.ts'
import { createLineSplitter } from '../../../../lib/io/split-lines.ts'
import type { LogFiles } from './log-files.ts'

export interface Output {
  /**
   * Returns the last meaningful line, for example the error above its stack trace. It is empty if
   * no such line was written.
   */
  readonly lastLine: () => string
  /**
   * Resolves when all output is logged. Pipes that leftover processes still have open are closed
   * after a timeout.
   */
  readonly end: () => Promise<void>
}

/** Maximum length of a line; longer lines are split. */
const LINE_MAX_BYTES = 16 * 1024
/**
 * Output budget of an instance per window, so that excessive output does not slow down the machine.
 */
const WINDOW_MS = 100
const WINDOW_COST = 1_600_000
/** Cost of a line in addition to its bytes. */
const LINE_COST = 256
const DRAIN_MS = 1000

/**
 * Writes the output of a process to a log with backpressure, limited to about 60 000 lines or 16 MB
 * per second: a program that writes more blocks.
 *
 * @param onFlood called once when the output is throttled.
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

  /** Returns how long to pause reading, in milliseconds. */
  const toPauseMs = (spent: number): number => {
    const nowMs = performance.now()
    if (nowMs - windowMs >= WINDOW_MS) {
      windowMs = nowMs
      cost = 0
    }
    cost += spent
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
    const append = (lines: readonly string[]) => {
      if (lines.length === 0) return
      lastLine = lines.findLast(isMeaningful) ?? lastLine
      log.append({ instance, stream: name }, lines)
    }
    stream.on('data', (chunk: Buffer) => {
      const lines = splitter.push(chunk)
      append(lines)
      const ms = toPauseMs(chunk.length + lines.length * LINE_COST)
      if (ms > 0 && !isFlooding) {
        isFlooding = true
        onFlood()
      }
      if (ms > 0 || log.isFull()) void pause(stream, ms)
    })
    // A broken pipe has already delivered all its data.
    stream.on('error', () => {})
    stream.once('close', () => append(splitter.end()))
  }
  capture(child.stdout!, 'stdout')
  capture(child.stderr!, 'stderr')
  const closed = Promise.all(streams.map((stream) => once(stream, 'close').catch(() => {})))

  return {
    lastLine: () => lastLine,
    async end() {
      const timer = setTimeout(() => {
        for (const stream of streams) stream.destroy()
      }, DRAIN_MS)
      await closed
      clearTimeout(timer)
      await log.written()
    },
  }
}

/**
 * Returns false for stack frames, the rest of an object, and the version that Node.js prints below
 * them.
 */
function isMeaningful(text: string): boolean {
  return /^[^\s}]/.test(text) && !text.startsWith('Node.js v')
}
