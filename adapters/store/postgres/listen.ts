import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { StoreListener } from '../../../core/contracts/store.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { withTimeout } from '../../../lib/async/timeout.ts'
import type { DedicatedConnection } from './client/connections.ts'
import { unpackEvents } from './events.ts'

export interface ListenOptions {
  readonly connect: () => Promise<DedicatedConnection>
  readonly channel: string
  readonly listener: StoreListener
  /** Heartbeat interval, which is also the timeout of a heartbeat. */
  readonly heartbeatMs: number
}

export interface Listening {
  /** Settles when listening has started or the first attempt has failed. */
  readonly settled: Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Receives notifications of a channel on a dedicated connection and reconnects after failures.
 * Notifications may be missed in between.
 */
export function listen({ connect, channel, listener, heartbeatMs }: ListenOptions): Listening {
  const controller = new AbortController()
  const { signal } = controller
  const backOff = createBackOff()
  let hasGap = false
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  async function receive(client: Client): Promise<void> {
    const closed = once(client, 'end', { signal })
    // The connection may end before the promise is awaited.
    closed.catch(() => {})
    client.on('notification', ({ payload = '' }) => {
      if (signal.aborted) return
      const events = unpackEvents(payload)
      if (events === undefined) listener.onMissedEvents()
      else for (const event of events) listener.onEvent(event)
    })
    // The server queues unread notifications, so it should soon drop an unresponsive client.
    await client.query(`SET tcp_user_timeout = ${heartbeatMs * 2}; LISTEN "${channel}"`)
    backOff.reset()
    if (hasGap && !signal.aborted) listener.onMissedEvents()
    hasGap = true
    settle()
    await Promise.race([closed, checkHeartbeat(client)])
  }

  /** Rejects when the server does not respond. */
  async function checkHeartbeat(client: Client): Promise<void> {
    for (;;) {
      await delay(heartbeatMs, undefined, { signal, ref: false })
      await withTimeout(client.query('SELECT'), heartbeatMs)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let connection: DedicatedConnection | undefined
      try {
        connection = await connect()
        if (!signal.aborted) await receive(connection.client)
      } catch {
        // Reads and writes report the reason; this function only reconnects.
      }
      connection?.end()
      hasGap = true
      settle()
      if (!signal.aborted) await delay(backOff.next(), undefined, { signal }).catch(() => {})
    }
  }

  const running = run()
  return {
    settled,
    async stop() {
      controller.abort()
      await running
    },
  }
}
