import type { Msg } from '@nats-io/transport-node'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { toApiFailure } from './errors.ts'

/** Acknowledgement of a published message (NATS ADR-22). */
interface PubAck {
  readonly seq: number
  readonly error?: {
    readonly code: number
    readonly err_code: number
    readonly description: string
  }
}

/** Returns whether the subject has no subscribers, which means that the stream does not exist. */
export function isUnacknowledged({ data, headers }: Msg): boolean {
  return data.length === 0 && headers?.code === 503
}

/**
 * Returns the sequence of a stored message.
 *
 * @throws {GatewayError} with the reason for the failure.
 */
export function toStored(response: Msg): number {
  if (isUnacknowledged(response))
    throw eventsUnavailable(new Error('no stream exists, or JetStream is disabled'))
  const { seq, error } = response.json<PubAck>()
  if (error === undefined) return seq
  throw toApiFailure({ code: error.err_code, status: error.code }, new Error(error.description))
}
