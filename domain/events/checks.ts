import type { EventStart, EventTopic, NewEvent } from '../../core/contracts/events.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { sizeOfMetadata } from '../store/limits.ts'
import { isDeadTopic, toDeadTopic } from './dead-letters.ts'
import { eventsError } from './errors.ts'

/** Maximum size of an event's metadata as JSON. */
export const MAX_EVENT_METADATA_BYTES: number = 16 * 1024
/** Maximum time that a JavaScript date can represent. */
export const MAX_TIME_MS = 8.64e15
/** Maximum acknowledgement timeout and redelivery delay (one day). */
export const MAX_WAIT_MS: number = 24 * 60 * 60 * 1000
/** Maximum number of unacknowledged events per consumer. */
export const MAX_IN_FLIGHT = 100_000

/** Rule for names of topics and groups, used in error messages. */
export const TOPIC_NAME_RULE =
  'must be letters, digits and inner dots, dashes or underscores, at most 253'

/**
 * Returns whether a topic, namespace or group may have this name. The rule is the same as for
 * services.
 */
export function isEventName(name: unknown): name is string {
  return typeof name === 'string' && isServiceName(name)
}

/** @throws {GatewayError} 400 */
export function checkTopic({ namespace, topic }: EventTopic): void {
  checkName('namespace', namespace)
  checkName('topic', topic)
}

/** @throws {GatewayError} 400 */
export function checkName(what: string, name: unknown): void {
  if (!isEventName(name)) throw eventsError(400, `${what} ${TOPIC_NAME_RULE}, got ${show(name)}`)
}

/** @throws {GatewayError} 400 */
export function checkEvent(event: NewEvent, maxPayloadBytes: number): void {
  const { payload, metadata, timestampMs } = event
  if (payload.length > maxPayloadBytes)
    throw eventsError(
      400,
      `payload must be at most ${maxPayloadBytes} bytes, got ${payload.length}`,
    )
  if (sizeOfMetadata(metadata) > MAX_EVENT_METADATA_BYTES)
    throw eventsError(
      400,
      `metadata must contain only strings, with at most ${MAX_EVENT_METADATA_BYTES} bytes as JSON`,
    )
  checkNumber('timestampMs', timestampMs, 0, MAX_TIME_MS)
}

/** @throws {GatewayError} 400 */
export function checkStart({ sequence, sinceMs }: EventStart): void {
  if (sequence !== undefined) checkNumber('sequence', sequence, 1, Number.MAX_SAFE_INTEGER)
  if (sinceMs !== undefined) checkNumber('sinceMs', sinceMs, 0, MAX_TIME_MS)
}

/**
 * Checks that a topic can have dead letters.
 *
 * @throws {GatewayError} 400
 */
export function checkRetries({ topic }: EventTopic, retryLimit: number): void {
  checkNumber('retryLimit', retryLimit, -1, Number.MAX_SAFE_INTEGER)
  if (retryLimit === -1) return
  if (isDeadTopic(topic))
    throw eventsError(400, `retryLimit must be -1: ${topic} already contains dead letters`)
  if (!isEventName(toDeadTopic(topic)))
    throw eventsError(
      400,
      'retryLimit must be -1: the name of the topic is too long for dead letters',
    )
}

/** @throws {GatewayError} 400 */
export function checkNumber(what: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw eventsError(400, `${what} must be a whole number from ${min} to ${max}, got ${show(value)}`)
}

/** Quotes a value for an error message. */
function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? String(value)
}
