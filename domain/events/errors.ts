import type { EventTopic } from '../../core/contracts/events.ts'
import { GatewayError } from '../../core/errors.ts'

/** Id of their errors: the built-in service's name. */
export const EVENTS_ID = 'events'

/** 507: there is no room for what was to be stored. Nothing of it was; reading goes on. */
export function eventsFull(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 507, 'the event store is full: nothing was written', { cause })
}

/** 503: what keeps the events cannot be reached. */
export function eventsUnavailable(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 503, 'the event store cannot be reached', { cause })
}

/** 410, for members of a group that was deleted: it must not be begun anew by who did not know. */
export function groupDeleted(name: string): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the group ${name} was deleted`)
}

/** 410, for members of groups of a topic that was deleted: its sequences begin anew. */
export function topicDeleted({ topic }: EventTopic): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the topic ${topic} was deleted`)
}

/** Another error of events. */
export function rejectInput(code: number, detail: string): GatewayError {
  return new GatewayError(EVENTS_ID, code, detail)
}
