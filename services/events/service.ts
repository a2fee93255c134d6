import type { EventsAdapter } from '../../core/contracts/events.ts'
import { createEvents, type Events, type EventsOptions } from '../../domain/events/events.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createStoreEndpoints, createStreamEndpoints } from './endpoints.ts'

const DESCRIPTION = 'Streams of stored events'

export interface EventsServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Stores the events. It is closed with the service. */
  readonly adapter: EventsAdapter
  /** Limits and retention. */
  readonly events?: EventsOptions
}

/** The built-in `events` service. */
export interface EventsService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  readonly events: Events
  /** Ends consumptions and rejects new ones. Other calls continue. */
  readonly endStreams: () => Promise<void>
  /** Ends consumptions, stops the service, then closes the events. */
  readonly close: () => Promise<void>
}

/** Creates the `events` service (specification: Events; reference 5.2). */
export function createEventsService(options: EventsServiceOptions): EventsService {
  const { adapter, events: eventsOptions, ...serviceOptions } = options
  const checks = createAccountChecks(serviceOptions.authorizer)
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'events',
  })
  const events = createEvents(adapter, {
    onError: (err) => service.log.warn({ err }, 'retention or a dead letter failed; retrying'),
    ...eventsOptions,
  })
  service
    .handle('Stream', createStreamEndpoints(events, checks))
    .handle('Store', createStoreEndpoints(events, checks))
  return {
    service,
    events,
    endStreams: events.endConsumers,
    async close() {
      await events.endConsumers()
      await service.stop()
      await events.close()
    },
  }
}
