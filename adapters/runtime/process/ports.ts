import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const LOOPBACK = '127.0.0.1'
/** Addresses of programs that listen on all addresses or on `localhost`. */
const HOSTS = [LOOPBACK, '::1']
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const ESTABLISHED = '01'
const LISTEN = '0A'
/**
 * Local addresses that accept connections to {@link HOSTS}, most specific first, in the notation of
 * {@link TABLES} on machines of either byte order.
 */
const ACCEPTING: Readonly<Record<string, readonly RegExp[]>> = {
  [LOOPBACK]: [/^(0100007F|7F000001)$/, /^0{16}.{8}(0100007F|7F000001)$/, /^0{8}$/, /^0{32}$/],
  '::1': [/^0{24}(01000000|00000001)$/, /^0{32}$/],
}
const POLL_MS = 50
const CONNECT_MS = 1000

/**
 * Finds a free loopback port, preferably the requested port.
 *
 * @throws {Error} if the requested port is in use.
 */
export async function findPort(requested: number | undefined): Promise<number> {
  if (requested !== undefined) {
    if ((await findListening(requested)) === undefined) return requested
    throw new Error(`port ${requested} is already in use`)
  }
  const server = createServer().listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * Resolves with `host:port` when the loopback port accepts connections. Rejects only on abort.
 *
 * @param userId user that must be listening. A program in another namespace could listen on the
 * port at `::1`, or before the instance does, and would receive its requests. @default any
 */
export async function whenListening(
  port: number,
  signal: AbortSignal,
  userId?: number,
): Promise<string> {
  for (;;) {
    signal.throwIfAborted()
    const host = await findListening(port, userId)
    if (host !== undefined) return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    await delay(POLL_MS, undefined, { signal })
  }
}

/**
 * Resolves when the port has no open connections or after `timeoutMs`; immediately without `/proc`.
 */
export async function whenUnused(port: number, timeoutMs: number): Promise<void> {
  const untilMs = performance.now() + timeoutMs
  while (isUsed(port) && performance.now() < untilMs) await delay(POLL_MS)
}

/**
 * Returns whether the system lists an established connection with this local port (proc(5),
 * `/proc/net/tcp`).
 */
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

async function findListening(port: number, userId?: number): Promise<string | undefined> {
  for (const host of HOSTS)
    if ((await isListening(host, port)) && (userId === undefined || isOf(userId, host, port)))
      return host
  return
}

/**
 * Returns whether the socket that accepts connections to a loopback address belongs to the user.
 */
function isOf(userId: number, host: string, port: number): boolean {
  const row = `^\\s*\\d+: ([0-9A-F]+):${toHex(port)} [0-9A-F:]+ ${LISTEN} \\S+ \\S+ \\S+\\s+(\\d+)`
  const listeners = TABLES.flatMap((table) => {
    try {
      return [...readFileSync(table, 'latin1').matchAll(new RegExp(row, 'gm'))]
    } catch {
      // The machine has no IPv6.
      return []
    }
  })
  for (const form of ACCEPTING[host]!) {
    const found = listeners.find(([, address]) => form.test(address!))
    if (found !== undefined) return Number(found[2]) === userId
  }
  return false
}

function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS })
    const settle = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
  })
}
