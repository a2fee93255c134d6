import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const LOOPBACK = '127.0.0.1'
/** Where programs listen that were told a port alone, or `localhost`. */
const HOSTS = [LOOPBACK, '::1']
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const ESTABLISHED = '01'
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

/** Resolves once no connection to the port of this machine is open, or `timeoutMs` are over; at once where there is no `/proc`. */
export async function whenUnused(port: number, timeoutMs: number): Promise<void> {
  const untilMs = performance.now() + timeoutMs
  while (isUsed(port) && performance.now() < untilMs) await delay(POLL_MS)
}

/** Whether the system lists an established connection (proc(5), `/proc/net/tcp`) whose end here has the port. */
function isUsed(port: number): boolean {
  const local = new RegExp(`^\\s*\\d+: [0-9A-F]+:${toHex(port)} [0-9A-F:]+ ${ESTABLISHED} `, 'm')
  return TABLES.some((table) => {
    try {
      return local.test(readFileSync(table, 'latin1'))
    } catch {
      return false
    }
  })
}

function toHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
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
