import { toField } from '../ui/bytes.ts'

/** An event, as the service `events` tells it (specification: Event). */
export interface EventMessage {
  readonly id: string
  readonly topic: string
  /** Its place in the topic, from 1 on. */
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly timestamp_ms: number
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
}

/** An event as a document. */
export function toDocument({ payload, ...event }: EventMessage): object {
  return { ...event, ...toField('payload', toPayload({ payload })) }
}

export function toPayload({ payload }: Pick<EventMessage, 'payload'>): Buffer {
  return Buffer.from(payload, 'base64')
}
