import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const LOOPBACK = '127.0.0.1'
/** Where programs listen that were told a port alone, or `localhost`. */
const HOSTS = [LOOPBACK, '::1']
const POLL_MS = 50
const CONNECT_MS = 1000

/**
 * A port of loopback that nobody listens at: the one that is wanted, else any.
 *
 * @throws {Error} when somebody answers at the one that is wanted.
 */
export async function findPort(wanted: number | undefined): Promise<number> {
  if (wanted !== undefined) {
    if ((await findAnswering(wanted)) === undefined) return wanted
    throw new Error(`its port ${wanted} is taken: something else listens there`)
  }
  const server = createServer().listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves once somebody takes connections at the port of loopback, with `host:port`. Rejects by the signal alone. */
export async function whenAnswers(port: number, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted()
    const host = await findAnswering(port)
    if (host !== undefined) return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    await delay(POLL_MS, undefined, { signal })
  }
}

async function findAnswering(port: number): Promise<string | undefined> {
  for (const host of HOSTS) if (await isAnswering(host, port)) return host
  return
}

function isAnswering(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS })
    const end = (answers: boolean) => {
      socket.destroy()
      resolve(answers)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
