import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import type { Broker } from '../../../core/contracts/broker.ts'
import { type CheckedBroker, createBroker } from '../../../domain/broker/broker.ts'
import { redactUrl } from '../../../lib/text/redact.ts'
import type { Log } from '../../process/log.ts'

/** Unused topic that tests the connection. */
const PROBE = 'mx.looks'

/**
 * Opens the broker of the `broker` setting: `memory` or a NATS server, whose library is imported on demand.
 *
 * @throws {Error} with a one-line message if the server is unreachable or denies access.
 */
export async function openServerBroker(text: string, log: Log): Promise<CheckedBroker> {
  const adapter = await load(text, log)
  return createBroker(adapter, {
    onDrop: (subscription, count) =>
      log.warn({ ...subscription, count }, 'messages dropped for slow subscriber'),
    onError: (subscription, error) =>
      log.error({ ...subscription, err: error }, 'subscriber failed'),
  })
}

async function load(text: string, log: Log): Promise<Broker> {
  if (text === 'memory') return createMemoryBroker()
  const { createNatsBroker } = await import('../../../adapters/broker/nats.ts')
  let isOpen = false
  // Before the broker is open, problems are reported by the thrown error.
  const onWarning = (message: string): void => void (isOpen && log.warn(`broker: ${message}`))
  const broker = createNatsBroker({ address: parseNatsUrl(text), onWarning })
  try {
    await broker.tried
    const stop = await broker.subscribe(PROBE, () => {})
    await stop()
    isOpen = true
    return broker
  } catch (error) {
    await broker.close?.()
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(`the broker ${redactUrl(text)} is not available: ${reason}`, { cause: error })
  }
}
