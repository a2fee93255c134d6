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
  /** Milliseconds each step of an attempt to connect may take, and an answer. @default 5000 */
  readonly timeoutMs?: number
  /** Milliseconds between two questions whether the server is still there; it is gone after two without an answer. @default 5000 */
  readonly pingMs?: number
  /** A connection stands: the first, or another, that knows nothing of the one before. */
  readonly onUp?: (connection: NatsConnection) => void
  /** The connection is lost. */
  readonly onDown?: () => void
  /** Told in a line when the server goes away, refuses, or is back. @default a process warning */
  readonly onWarning?: (message: string) => void
}

/** Keeps a connection to NATS: when it breaks there is another as soon as a server takes one. */
export interface NatsLink {
  /** Undefined: there is none. */
  readonly connection: NatsConnection | undefined
  /** Settles when every server was tried once. @throws {Error} when one refused. */
  readonly tried: Promise<void>
  /** The connection, waiting for the first attempt. @throws {Error} why there is none. */
  readonly open: () => Promise<NatsConnection>
  /** The server has taken what was sent before. @throws {Error} when the connection broke, or there was no answer in time. */
  readonly confirm: () => Promise<void>
  /** Sends what waits, then ends the connection. */
  readonly close: () => Promise<void>
}

/** A connection that stood this long was a good one: the next pause is short again. */
const GOOD_MS = 5000
/** Until when what waits must have been sent. */
const DRAIN_MS = 2000
/** Different errors of a server that are told. */
const MAX_TOLD = 100

export function createNatsLink(options: NatsLinkOptions): NatsLink {
  const { address, timeoutMs = 5000, pingMs = 5000, onUp, onDown } = options
  const { onWarning = (message) => process.emitWarning(message) } = options
  const name = `NATS at ${formatNatsAddress(address)}`
  const stop = new AbortController()
  const { signal } = stop
  const backOff = createBackOff()
  const hosts = [...address.hosts]
  /** Those who wait for a confirmation. */
  const waiting = new Set<(reason: Error) => void>()
  /** Errors of servers that were told. */
  const told = new Set<string>()
  let connection: NatsConnection | undefined
  /** Why there is none. */
  let reason = new Error(`${name} was not reached yet`)
  let lostMs: number | undefined
  let settle: (refused?: Error) => void = () => {}
  const tried = new Promise<void>((resolve, reject) => {
    settle = (refused) => (refused === undefined ? resolve() : reject(refused))
  })
  // Nobody may be waiting.
  tried.catch(() => {})

  /** Tries each server; the one that failed last is last the next time. */
  async function attempt(): Promise<NatsConnection | undefined> {
    let refused: Error | undefined
    const failures: string[] = []
    for (let left = hosts.length; left > 0 && !signal.aborted; left--) {
      const host = hosts[0]!
      try {
        return await connectNats(address, host, { timeoutMs, pingMs, signal })
      } catch (error) {
        hosts.push(hosts.shift() as NatsHost)
        const failure = toConnectError(error)
        failures.push(`${formatNatsHost(host)}: ${failure.message}`)
        if (isPermanent(failure)) refused ??= failure
      }
    }
    fail(failures.join('; '), refused)
    return undefined
  }

  function fail(failures: string, refused: Error | undefined): void {
    const what = refused === undefined ? 'is away' : 'refuses'
    const message = `${name} ${what}: ${failures}`
    const isNew = !reason.message.startsWith(`${name} ${what}`)
    reason = Object.assign(new Error(message, { cause: refused }), {
      denied: refused !== undefined,
    })
    lostMs ??= performance.now()
    if (isNew && !signal.aborted) onWarning(`${message}; trying again until it takes a connection`)
    settle(refused && reason)
  }

  async function keep(opened: NatsConnection): Promise<void> {
    const upMs = performance.now()
    connection = opened
    if (lostMs !== undefined) onWarning(`${name} is back after ${Math.round(upMs - lostMs)} ms`)
    lostMs = undefined
    void tellErrors(opened)
    try {
      onUp?.(opened)
    } catch {
      // It broke in the meantime, and is no good to whoever wanted it.
      await opened.close()
    }
    settle()
    const error = await opened.closed()
    connection = undefined
    reason = new Error(`${name} is away: ${toConnectError(error).message}`, { cause: error })
    if (performance.now() - upMs > GOOD_MS) backOff.reset()
    for (const reject of waiting) reject(reason)
    waiting.clear()
    onDown?.()
    if (signal.aborted) return
    lostMs = performance.now()
    onWarning(`${reason.message}; connecting again`)
  }

  /** What the server permits not, among others: it says so behind the call. */
  async function tellErrors(opened: NatsConnection): Promise<void> {
    for await (const status of opened.status()) {
      if (status.type !== 'error') continue
      const { message } = status.error
      if (told.has(message) || told.size >= MAX_TOLD) continue
      told.add(message)
      onWarning(`${name}: ${message}`)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const opened = await attempt()
      if (opened !== undefined) {
        if (signal.aborted) await opened.close()
        else await keep(opened)
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
          waiting.delete(fail)
        }
        const fail = (error: Error): void => {
          end()
          reject(error)
        }
        const timer = setTimeout(
          () => fail(new Error(`${name} did not answer within ${timeoutMs} ms`)),
          timeoutMs,
        )
        waiting.add(fail)
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
