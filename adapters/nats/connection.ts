import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { isPermanent } from '../../core/registry/errors.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import { connectNats } from './connect.ts'
import { toConnectError } from './errors.ts'
import { formatNatsAddress, formatNatsHost, type NatsAddress, type NatsHost } from './url.ts'

export interface NatsLinkOptions {
  readonly address: NatsAddress
  /** Timeout of each connection step and of a response in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /**
   * Ping interval in milliseconds; the connection is lost after two unanswered pings.
   *
   * @default 5000
   */
  readonly pingMs?: number
  /** Called with each new connection. */
  readonly onUp?: (connection: NatsConnection) => void
  readonly onDown?: () => void
  /** Called on outages, rejections and recoveries. @default a process warning */
  readonly onWarning?: (message: string) => void
}

/** A connection to NATS that reconnects. */
export interface NatsLink {
  readonly connection: NatsConnection | undefined
  /**
   * Settles when each server has been tried once.
   *
   * @throws {Error} if a server rejected the connection.
   */
  readonly tried: Promise<void>
  /**
   * Returns the connection after the first attempt.
   *
   * @throws {Error} with the reason for the outage.
   */
  readonly open: () => Promise<NatsConnection>
  /**
   * Resolves when the server has processed everything sent before.
   *
   * @throws {Error} on connection loss or timeout.
   */
  readonly confirm: () => Promise<void>
  /** Flushes buffered data and closes the connection. */
  readonly close: () => Promise<void>
}

/** The back-off is reset when a connection has lasted this long. */
const STABLE_MS = 5000
/** Timeout for flushing buffered data on close. */
const DRAIN_MS = 2000
/** Maximum number of distinct server errors that are reported. */
const MAX_REPORTED = 100

export function createNatsLink(options: NatsLinkOptions): NatsLink {
  const { address, timeoutMs = 5000, pingMs = 5000, onUp, onDown } = options
  const { onWarning = (message) => process.emitWarning(message) } = options
  const name = `NATS at ${formatNatsAddress(address)}`
  const stop = new AbortController()
  const { signal } = stop
  const backOff = createBackOff()
  const hosts = [...address.hosts]
  /** Reject functions of the pending confirmations. */
  const confirmations = new Set<(reason: Error) => void>()
  /** Server errors already reported. */
  const reported = new Set<string>()
  let connection: NatsConnection | undefined
  /** Reason for the outage. */
  let reason = new Error(`${name} is not connected yet`)
  let lostMs: number | undefined
  let settle: (rejection?: Error) => void = () => {}
  const tried = new Promise<void>((resolve, reject) => {
    settle = (rejection) => (rejection === undefined ? resolve() : reject(rejection))
  })
  // Prevents an unhandled rejection if no caller awaits it.
  tried.catch(() => {})

  /** Tries each server. The last server that failed is tried last next time. */
  async function attempt(): Promise<NatsConnection | undefined> {
    let rejection: Error | undefined
    const failures: string[] = []
    for (let remaining = hosts.length; remaining > 0 && !signal.aborted; remaining--) {
      const host = hosts[0]!
      try {
        return await connectNats(address, host, { timeoutMs, pingMs, signal })
      } catch (error) {
        hosts.push(hosts.shift() as NatsHost)
        const failure = toConnectError(error)
        failures.push(`${formatNatsHost(host)}: ${failure.message}`)
        if (isPermanent(failure)) rejection ??= failure
      }
    }
    fail(failures.join('; '), rejection)
    return undefined
  }

  function fail(failures: string, rejection: Error | undefined): void {
    const problem = rejection === undefined ? 'is unreachable' : 'rejected the connection'
    const message = `${name} ${problem}: ${failures}`
    const isNew = !reason.message.startsWith(`${name} ${problem}`)
    reason = Object.assign(new Error(message, { cause: rejection }), {
      denied: rejection !== undefined,
    })
    lostMs ??= performance.now()
    if (isNew && !signal.aborted) onWarning(`${message}; retrying`)
    settle(rejection && reason)
  }

  async function holdConnection(opened: NatsConnection): Promise<void> {
    const upMs = performance.now()
    connection = opened
    if (lostMs !== undefined)
      onWarning(`${name} is reachable again after ${Math.round(upMs - lostMs)} ms`)
    lostMs = undefined
    void reportErrors(opened)
    try {
      onUp?.(opened)
    } catch {
      // The connection broke in the meantime.
      await opened.close()
    }
    settle()
    const error = await opened.closed()
    connection = undefined
    reason = new Error(`${name} is unreachable: ${toConnectError(error).message}`, { cause: error })
    if (performance.now() - upMs > STABLE_MS) backOff.reset()
    for (const reject of confirmations) reject(reason)
    confirmations.clear()
    onDown?.()
    if (signal.aborted) return
    lostMs = performance.now()
    onWarning(`${reason.message}; reconnecting`)
  }

  /** Reports asynchronous errors of the server, such as permission violations. */
  async function reportErrors(opened: NatsConnection): Promise<void> {
    for await (const status of opened.status()) {
      if (status.type !== 'error') continue
      const { message } = status.error
      if (reported.has(message) || reported.size >= MAX_REPORTED) continue
      reported.add(message)
      onWarning(`${name}: ${message}`)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const opened = await attempt()
      if (opened !== undefined) {
        if (signal.aborted) await opened.close()
        else await holdConnection(opened)
      }
      await delay(backOff.next(), undefined, { signal }).catch(() => {})
    }
    reason = new Error(`the connection to ${name} is closed`)
    settle()
  }

  const running = run()

  async function close(): Promise<void> {
    stop.abort()
    const open = connection
    if (open !== undefined) {
      await settlesWithin(open.drain(), DRAIN_MS).catch(() => {})
      await open.close()
    }
    await running
  }

  let closing: Promise<void> | undefined
  return {
    get connection() {
      return signal.aborted ? undefined : connection
    },

    tried,

    async open() {
      await tried.catch(() => {})
      if (connection !== undefined && !signal.aborted) return connection
      throw reason
    },

    confirm() {
      const open = connection
      if (open === undefined) return Promise.reject(reason)
      return new Promise((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timer)
          confirmations.delete(fail)
        }
        const fail = (error: Error): void => {
          end()
          reject(error)
        }
        const timer = setTimeout(
          () => fail(new Error(`${name} did not respond within ${timeoutMs} ms`)),
          timeoutMs,
        )
        confirmations.add(fail)
        open.flush().then(() => {
          end()
          resolve()
        }, fail)
      })
    },

    close() {
      closing ??= close()
      return closing
    },
  }
}
