import { toField } from '../ui/bytes.ts'

/** An event of the `events` service (specification: Event). */
export interface EventMessage {
  readonly id: string
  readonly topic: string
  /** Position in the topic, from 1. */
  readonly sequence: number
  /** Unix time in milliseconds. */
  readonly timestamp_ms: number
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
}

/** Converts an event for JSON or YAML output. */
export function toDocument({ payload, ...event }: EventMessage): object {
  return { ...event, ...toField('payload', toPayload({ payload })) }
}

export function toPayload({ payload }: Pick<EventMessage, 'payload'>): Buffer {
  return Buffer.from(payload, 'base64')
}
