import { once } from 'node:events'
import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Program } from './processes.ts'

const READY_MS = 60_000
const POLL_MS = 25

/**
 * Waits until a program responds with status 200.
 *
 * @returns elapsed time in milliseconds.
 * @throws {Error} with the last output of the program if it exits or does not respond in time.
 */
export async function waitUntilReady(program: Program, url: string): Promise<number> {
  return await poll(program, url, async () => {
    const status = await fetchStatus(url)
    if (status === 200) return undefined
    return status === 0 ? 'no response' : `status ${status}`
  })
}

/**
 * Waits until a program accepts connections on a port of 127.0.0.1.
 *
 * @returns elapsed time in milliseconds.
 * @throws {Error} with the last output of the program if it exits or does not listen in time.
 */
export async function waitUntilOpen(program: Program, port: number): Promise<number> {
  return await poll(program, `port ${port}`, async () => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return undefined
    } catch {
      return 'no program is listening'
    } finally {
      socket.destroy()
    }
  })
}

/** @param check returns the reason why the program is not ready, or undefined if it is. */
async function poll(
  program: Program,
  target: string,
  check: () => Promise<string | undefined>,
): Promise<number> {
  const start = performance.now()
  for (;;) {
    const missing = await check()
    const elapsedMs = performance.now() - start
    if (missing === undefined) return elapsedMs
    if (program.exited() || elapsedMs > READY_MS) {
      const reason = program.exited() ? 'it exited' : missing
      const output = program.output()
      await program.stop()
      throw new Error(`not ready at ${target}: ${reason}. ${output}`)
    }
    await wait(POLL_MS)
  }
}

/** Requests a URL. Returns the status, or 0 without a response. */
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
