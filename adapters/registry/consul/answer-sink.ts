import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'

/** Where the library puts an answer. */
export interface AnswerSink {
  readonly stream: Writable
  readonly headers: () => IncomingHttpHeaders
  /** What arrived, in pieces: a long answer is not copied together, which would take as much memory again. */
  readonly chunks: readonly Buffer[]
  /** Why it was cut short; undefined: it was not. */
  readonly problem: () => string | undefined
}

/**
 * Collects an answer of at most `maxBytes`. The library by itself takes answers of any size, and waits until its timeout for
 * one whose connection ends in the middle.
 *
 * @param cancel called when the answer is not to be waited for any longer.
 */
export function createAnswerSink(maxBytes: number, cancel: () => void): AnswerSink {
  const chunks: Buffer[] = []
  let bytes = 0
  let headers: IncomingHttpHeaders = {}
  let problem: string | undefined

  const fail = (reason: string): void => {
    if (problem !== undefined) return
    problem = reason
    cancel()
  }
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
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
    chunks,
    problem: () => problem,
  }
}
