import type { EventsAdapter } from '../core/contracts/events.ts'
import type { Settings } from './settings.ts'
import { hideSecret } from './settings-server-values.ts'

export interface OpenEventsOptions {
  readonly settings: Pick<Settings, 'events' | 'storeSync'>
  /** Where a file lies. */
  readonly folder: string
  readonly onWarning: (message: string) => void
}

/**
 * Opens what keeps events, by the setting `events`, and looks into it. Its adapter is loaded by those only who use it.
 *
 * @throws {Error} with one line when it cannot be used, or does not answer.
 */
export async function openEvents(options: OpenEventsOptions): Promise<EventsAdapter> {
  const adapter = await load(options)
  try {
    await adapter.listTopics('mx')
    return adapter
  } catch (error) {
    await adapter.close?.()
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(
      `what keeps events, ${hideSecret(options.settings.events)}, cannot be used: ${reason}`,
      { cause: error },
    )
  }
}

async function load({ settings, folder }: OpenEventsOptions): Promise<EventsAdapter> {
  if (settings.events === 'memory')
    return (await import('../adapters/events/memory.ts')).createMemoryEvents()
  const { createLmdbEvents } = await import('../adapters/events/lmdb.ts')
  return createLmdbEvents({ folder, sync: settings.storeSync })
}
