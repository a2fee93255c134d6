import type { Msg } from '@nats-io/transport-node'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { toApiFailure } from './errors.ts'

/** What the server says of a message it was given (NATS ADR-22). */
interface PubAck {
  readonly seq: number
  readonly error?: {
    readonly code: number
    readonly err_code: number
    readonly description: string
  }
}

/** Nobody listens to the subject: there is no stream. */
export function isUnacknowledged({ data, headers }: Msg): boolean {
  return data.length === 0 && headers?.code === 503
}

/** The sequence a message was stored with. @throws {GatewayError} why it was not. */
export function toStored(answer: Msg): number {
  if (isUnacknowledged(answer))
    throw eventsUnavailable(new Error('there is no stream, or JetStream is off'))
  const { seq, error } = answer.json<PubAck>()
  if (error === undefined) return seq
  throw toApiFailure({ code: error.err_code, status: error.code }, new Error(error.description))
}
