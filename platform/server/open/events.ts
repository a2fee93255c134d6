import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import type { EventsAdapter } from '../../../core/contracts/events.ts'
import type { EventsOptions } from '../../../domain/events/events.ts'
import { redactUrl } from '../../../lib/text/redact.ts'
import { toEventsQuota } from '../../settings/quotas.ts'
import type { Settings } from '../../settings/settings.ts'

export interface OpenEventsOptions {
  readonly settings: Pick<Settings, 'events' | 'eventsReplicas' | 'storeSync'>
  /** Folder of the files. */
  readonly folder: string
  readonly onWarning: (message: string) => void
}

/** Maximum size of in-memory events. */
const MEMORY_BYTES = 256 * 1024 * 1024

/**
 * Opens and checks the event storage of the `events` setting. Imports its adapter on demand.
 *
 * @throws {Error} with a one-line message if it is unavailable.
 */
export async function openEvents(options: OpenEventsOptions): Promise<EventsAdapter> {
  let isOpen = false
  const { adapter, tried } = await load({
    ...options,
    // Before the storage is open, problems are reported by the thrown error.
    onWarning: (message) => isOpen && options.onWarning(message),
  })
  try {
    await tried
    await adapter.listTopics('mx')
    isOpen = true
    return adapter
  } catch (error) {
    await adapter.close?.()
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(
      `the event storage ${redactUrl(options.settings.events)} is not available: ${reason}`,
      { cause: error },
    )
  }
}

/** Returns the retention limits of events according to the settings. */
export function toEventsLimits(
  settings: Pick<
    Settings,
    | 'events'
    | 'eventsTopics'
    | 'eventsMaxAgeMs'
    | 'eventsMaxBytes'
    | 'eventsRetention'
    | 'quotaEvents'
  >,
): Pick<EventsOptions, 'maxTopics' | 'retention' | 'topics' | 'quota'> {
  const { events, eventsTopics, eventsMaxAgeMs, eventsMaxBytes, eventsRetention } = settings
  const capacity = events === 'memory' ? MEMORY_BYTES : Number.POSITIVE_INFINITY
  return {
    maxTopics: eventsTopics,
    retention: { maxAgeMs: eventsMaxAgeMs, maxBytes: eventsMaxBytes },
    topics: eventsRetention,
    quota: toEventsQuota(settings, capacity),
  }
}

interface Loaded {
  readonly adapter: EventsAdapter
  /** Rejects when the server denies access. */
  readonly tried?: Promise<void>
}

async function load({ settings, folder, onWarning }: OpenEventsOptions): Promise<Loaded> {
  switch (settings.events) {
    case 'memory': {
      const { createMemoryEvents } = await import('../../../adapters/events/memory.ts')
      return { adapter: createMemoryEvents({ maxBytes: MEMORY_BYTES }) }
    }
    case 'lmdb': {
      const { createLmdbEvents } = await import('../../../adapters/events/lmdb.ts')
      return { adapter: createLmdbEvents({ folder, sync: settings.storeSync, onWarning }) }
    }
    default: {
      const { createJetStreamEvents } = await import('../../../adapters/events/jetstream.ts')
      const address = parseNatsUrl(settings.events)
      const replicas = settings.eventsReplicas
      const adapter = createJetStreamEvents({
        address,
        replicas,
        onWarning: (message) => onWarning(`events: ${message}`),
      })
      return { adapter, tried: adapter.tried }
    }
  }
}
