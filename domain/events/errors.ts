import type { EventTopic } from '../../core/contracts/events.ts'
import { GatewayError } from '../../core/errors.ts'

/** Error id: the name of the built-in service. */
export const EVENTS_ID = 'events'

/** 507: the event store is full. Nothing was written; reads continue. */
export function eventsFull(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 507, 'the event store is full: nothing was written', { cause })
}

/** 503: the event store is unavailable. */
export function eventsUnavailable(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 503, 'the event store cannot be reached', { cause })
}

/** 410 for members of a deleted group: it must not be recreated by an unaware consumer. */
export function groupDeleted(name: string): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the group ${name} was deleted`)
}

/** 410 for members of groups of a deleted topic: its sequences restart. */
export function topicDeleted({ topic }: EventTopic): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the topic ${topic} was deleted`)
}

export function eventsError(code: number, detail: string): GatewayError {
  return new GatewayError(EVENTS_ID, code, detail)
}
