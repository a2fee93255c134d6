import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import type { Program } from './processes.ts'

const READY_MS = 15_000
const POLL_MS = 25

/**
 * Waits until a program answers 200.
 *
 * @returns how long that took, in milliseconds.
 * @throws {Error} with the program's last words when it ends or does not answer in time.
 */
export async function waitUntilReady(program: Program, url: string): Promise<number> {
  const start = performance.now()
  for (;;) {
    const status = await ask(url)
    const elapsedMs = performance.now() - start
    if (status === 200) return elapsedMs
    if (program.exited() || elapsedMs > READY_MS) {
      const why = program.exited()
        ? 'it ended'
        : status === 0
          ? 'no answer'
          : `it answered ${status}`
      const output = program.output()
      await program.stop()
      throw new Error(`not ready at ${url}: ${why}. ${output}`)
    }
    await wait(POLL_MS)
  }
}

/** Status of one reply; 0: none. */
function ask(url: string): Promise<number> {
  return new Promise((resolve) => {
    const onReply = (reply: { statusCode?: number | undefined; resume: () => unknown }) => {
      reply.resume()
      resolve(reply.statusCode ?? 0)
    }
    const options = { agent: false as const, timeout: 1000 }
    const request = url.startsWith('https:')
      ? getHttps(url, { ...options, rejectUnauthorized: false }, onReply)
      : getHttp(url, options, onReply)
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(0))
  })
}
