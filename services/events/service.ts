import type { EventsAdapter } from '../../core/contracts/events.ts'
import { createEvents, type Events, type EventsOptions } from '../../domain/events/events.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createStoreEndpoints, createStreamEndpoints } from './endpoints.ts'

const DESCRIPTION = 'Streams of events that are kept'

/** What the events service is told. */
export interface EventsServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Keeps the events; closed with the service. */
  readonly adapter: EventsAdapter
  /** Limits, and how much is kept. */
  readonly events?: EventsOptions
}

/** The events of a platform, as a service of it. */
export interface EventsService {
  /** Not started yet. */
  readonly service: Service<object>
  /** What the service works on. */
  readonly events: Events
  /** Ends the streams of those who consume, and takes no more of them; other calls go on. */
  readonly endStreams: () => Promise<void>
  /** Ends the streams of those who consume, stops the service, then closes the events. */
  readonly close: () => Promise<void>
}

/** The service `events` (specification: Events; reference 5.2), over an adapter. */
export function createEventsService(options: EventsServiceOptions): EventsService {
  const { adapter, events: eventsOptions, ...rest } = options
  const checks = createAccountChecks(rest.gate)
  const service = new Service({ metadata: { description: DESCRIPTION }, ...rest, name: 'events' })
  const events = createEvents(adapter, {
    onError: (err) =>
      service.log.warn({ err }, 'retention or a dead letter failed, and is repeated'),
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
