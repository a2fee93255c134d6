import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { returnMemory, takeMemory } from '../../../core/upstream/send-memory.ts'

/** Where the library puts an answer. */
export interface AnswerSink {
  readonly stream: Writable
  readonly headers: () => IncomingHttpHeaders
  /** What arrived, in pieces: a long answer is not copied together, which would take as much memory again. */
  readonly chunks: () => readonly Buffer[]
  /** Gives their memory to the next answers: nobody may look at them any more. Without it, it is left to the garbage collector. */
  readonly release: () => void
  /** Why it was cut short; undefined: it was not. */
  readonly problem: () => string | undefined
}

/** What is collected in one piece, bytes. */
const PIECE_BYTES = 65_536

/**
 * Collects an answer of at most `maxBytes`. The library by itself takes answers of any size, and waits until its timeout for
 * one whose connection ends in the middle.
 *
 * Its last piece, of most answers the only one, lies in memory that other answers have been in: of thousands of them, that of each
 * would be freed long after it was read.
 *
 * @param cancel called when the answer is not to be waited for any longer.
 */
export function createAnswerSink(maxBytes: number, cancel: () => void): AnswerSink {
  const full: Buffer[] = []
  let memory: Buffer | undefined
  /** Bytes of it. */
  let filled = 0
  let bytes = 0
  let headers: IncomingHttpHeaders = {}
  let problem: string | undefined

  const fail = (reason: string): void => {
    if (problem !== undefined) return
    problem = reason
    cancel()
  }

  function collect(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      memory ??= takeMemory(PIECE_BYTES)
      const copied = chunk.copy(memory, filled, at)
      at += copied
      filled += copied
      if (filled < memory.length) continue
      full.push(memory)
      memory = undefined
      filled = 0
    }
  }

  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= maxBytes) collect(chunk)
      else fail(`Consul's answer is longer than ${maxBytes} bytes`)
      done()
    },
  })
  stream.on('pipe', (response: IncomingMessage) => {
    headers = response.headers
    response.once('close', () => {
      if (!response.complete) fail('the connection to Consul ended in the middle of an answer')
    })
  })
  return {
    stream,
    headers: () => headers,
    chunks: () => (memory === undefined ? full : [...full, memory.subarray(0, filled)]),
    problem: () => problem,

    release() {
      if (memory !== undefined) returnMemory(memory)
      memory = undefined
    },
  }
}
