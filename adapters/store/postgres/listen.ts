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
  /** Between two questions whether the server is still there, and how long it may take to answer. */
  readonly heartbeatMs: number
}

export interface Listening {
  /** Settled once it listens, or the first attempt failed. */
  readonly settled: Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Tells of what is notified on a channel, on a connection of its own. Without one it tries again, and again later; what was
 * notified meanwhile is a gap.
 */
export function listen({ connect, channel, listener, heartbeatMs }: ListenOptions): Listening {
  const stopper = new AbortController()
  const { signal } = stopper
  const backOff = createBackOff()
  let hasGap = false
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  async function stand(client: Client): Promise<void> {
    const lost = once(client, 'end', { signal })
    // It may be before anybody waits for it.
    lost.catch(() => {})
    client.on('notification', ({ payload = '' }) => {
      if (signal.aborted) return
      const events = unpackEvents(payload)
      if (events === undefined) listener.onMissedEvents()
      else for (const event of events) listener.onEvent(event)
    })
    // Whoever does not take its notifications for so long is not to be waited for: the server keeps them for it.
    await client.query(`SET tcp_user_timeout = ${heartbeatMs * 2}; LISTEN "${channel}"`)
    backOff.reset()
    if (hasGap && !signal.aborted) listener.onMissedEvents()
    hasGap = true
    settle()
    await Promise.race([lost, watchOver(client)])
  }

  /** Rejects when the server does not answer. */
  async function watchOver(client: Client): Promise<void> {
    for (;;) {
      await delay(heartbeatMs, undefined, { signal, ref: false })
      await withTimeout(client.query('SELECT'), heartbeatMs)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let own: DedicatedConnection | undefined
      try {
        own = await connect()
        if (!signal.aborted) await stand(own.client)
      } catch {
        // Whoever reads or writes is told why; here is only tried again.
      }
      own?.end()
      hasGap = true
      settle()
      if (!signal.aborted) await delay(backOff.next(), undefined, { signal }).catch(() => {})
    }
  }

  const running = run()
  return {
    settled,
    async stop() {
      stopper.abort()
      await running
    },
  }
}
