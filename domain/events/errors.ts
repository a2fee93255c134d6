import type { EventTopic } from '../../core/contracts/events.ts'
import { GatewayError } from '../../core/errors.ts'

/** Id used in errors, which is the name of the built-in service. */
export const EVENTS_ID = 'events'

/** Returns a 507 error: the event store is full. Nothing was written; reads still work. */
export function eventsFull(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 507, 'the event store is full: nothing was written', { cause })
}

/** Returns a 503 error: the event store is unavailable. */
export function eventsUnavailable(cause: unknown): GatewayError {
  return new GatewayError(EVENTS_ID, 503, 'the event store cannot be reached', { cause })
}

/**
 * Returns a 410 error for members of a deleted group. A consumer must not recreate the group
 * without noticing the deletion.
 */
export function groupDeleted(name: string): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the group ${name} was deleted`)
}

/** Returns a 410 error for group members of a deleted topic, whose sequences restart. */
export function topicDeleted({ topic }: EventTopic): GatewayError {
  return new GatewayError(EVENTS_ID, 410, `the topic ${topic} was deleted`)
}

export function eventsError(code: number, detail: string): GatewayError {
  return new GatewayError(EVENTS_ID, code, detail)
}
