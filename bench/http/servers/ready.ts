import { once } from 'node:events'
import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'
import { connect } from 'node:net'
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
  return await poll(program, url, async () => {
    const status = await fetchStatus(url)
    if (status === 200) return undefined
    return status === 0 ? 'no answer' : `it answered ${status}`
  })
}

/**
 * Waits until a program accepts connections at a port of 127.0.0.1.
 *
 * @returns how long that took, in milliseconds.
 * @throws {Error} with the program's last words when it ends or does not listen in time.
 */
export async function waitUntilOpen(program: Program, port: number): Promise<number> {
  return await poll(program, `port ${port}`, async () => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return undefined
    } catch {
      return 'nobody listens'
    } finally {
      socket.destroy()
    }
  })
}

/** @param look says what is still missing. */
async function poll(
  program: Program,
  where: string,
  look: () => Promise<string | undefined>,
): Promise<number> {
  const start = performance.now()
  for (;;) {
    const missing = await look()
    const elapsedMs = performance.now() - start
    if (missing === undefined) return elapsedMs
    if (program.exited() || elapsedMs > READY_MS) {
      const why = program.exited() ? 'it ended' : missing
      const output = program.output()
      await program.stop()
      throw new Error(`not ready at ${where}: ${why}. ${output}`)
    }
    await wait(POLL_MS)
  }
}

/** Status of one reply; 0: none. */
function fetchStatus(url: string): Promise<number> {
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
