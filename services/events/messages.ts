import type { StoredEvent } from '../../core/contracts/events.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import {
  isEventName,
  MAX_EVENT_METADATA_BYTES,
  MAX_IN_FLIGHT,
  MAX_TIME_MS,
  MAX_WAIT_MS,
  TOPIC_NAME_RULE,
} from '../../domain/events/checks.ts'
import type { ConsumedEvent } from '../../domain/events/consumer.ts'
import { sizeOfMetadata } from '../../domain/store/limits.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'

/** An event in responses (specification: Event; reference 5.2). */
export interface EventMessage {
  readonly id: string
  readonly topic: string
  readonly metadata: Readonly<Record<string, string>>
  readonly payload: Uint8Array
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly timestamp_ms: number
  /** Position in the topic, starting at 1. */
  readonly sequence: number
}

/** A consumed event. */
export interface DeliveryMessage extends EventMessage {
  /** Number of deliveries to the group, including this one. */
  readonly attempt: number
}

/** Starts the consumption, or acknowledges an event. */
export interface ConsumeMessage {
  readonly topic: string
  readonly group: string
  readonly offset: number
  readonly offset_ms: number
  readonly sequence: number
  readonly auto_ack: boolean
  readonly ack_wait: number
  readonly retry_limit: number
  readonly max_in_flight: number
  readonly id: string
  readonly success: boolean
  readonly delay: number
}

const MAX_WAIT_NS = MAX_WAIT_MS * 1e6
const DIGITS = /^-?[0-9]{1,17}$/

interface LongOptions {
  readonly min?: number
  readonly max: number
  readonly default?: number
  readonly description: string
}

/** An integer that clients may write as a string if it exceeds 53 bits (reference 15.11). */
function Long({ min = 0, max, ...options }: LongOptions) {
  const schema = { type: ['integer', 'string'], format: 'int64', default: 0, ...options }
  const checked = Type.Refine(
    Type.Unsafe<number | string>(schema),
    (value) => {
      const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
      return Number.isInteger(number) && (number as number) >= min && (number as number) <= max
    },
    () => `must be a whole number from ${min} to ${max}`,
  )
  return Type.Codec(checked)
    .Decode(Number)
    .Encode((value) => value) as unknown as TUnsafe<number>
}

const name = (description: string) =>
  Type.Refine(
    Type.String({ default: '', description }),
    (name) => name === '' || isEventName(name),
    () => TOPIC_NAME_RULE,
  )
const seconds = (description: string) => Long({ max: MAX_TIME_MS / 1000, description })
const milliseconds = (description: string) => Long({ max: MAX_TIME_MS, description })
const sequence = (description: string) => Long({ max: Number.MAX_SAFE_INTEGER, description })
const Metadata = Type.Record(Type.String(), Type.String(), { default: {} })

export const Topic: TUnsafe<string> = Type.Unsafe(name('Topic of the namespace.'))
export const Group: TUnsafe<string> = Type.Unsafe(name('Group of the topic.'))
export const Payload: TUnsafe<Uint8Array> = Type.Unsafe(
  Bytes({ default: '', description: 'Bytes; base64 in JSON.' }),
)
export const MetadataInput: TUnsafe<EventMessage['metadata']> = Type.Unsafe(
  Type.Refine(
    Metadata,
    (metadata) => sizeOfMetadata(metadata) <= MAX_EVENT_METADATA_BYTES,
    () => `must be at most ${MAX_EVENT_METADATA_BYTES} bytes`,
  ),
)
export const Seconds: TUnsafe<number> = seconds('Seconds since 1970; 0 for now.')
export const Since: TUnsafe<number> = seconds('Omits events before this time, seconds since 1970.')
export const Milliseconds: TUnsafe<number> = milliseconds(
  'Milliseconds since 1970, which take precedence over seconds; 0 if not set.',
)
export const Offset: TUnsafe<number> = sequence(
  'Number of events to skip from the start of the topic.',
)
export const Limit: TUnsafe<number> = sequence('Page size; 0 for 250.')

const event = {
  id: Type.String({ description: 'A UUID.' }),
  topic: Type.String(),
  metadata: Metadata,
  payload: Bytes({ description: 'Bytes; base64 in JSON.' }),
  timestamp: Type.Integer({ description: 'Seconds since 1970.' }),
  timestamp_ms: Type.Integer({ description: 'Milliseconds since 1970.' }),
  sequence: Type.Integer({ description: 'Position in the topic, from 1.' }),
}

export const EventView: TUnsafe<EventMessage> = Type.Unsafe(Type.Object(event))
export const DeliveryView: TUnsafe<DeliveryMessage> = Type.Unsafe(
  Type.Object({
    ...event,
    attempt: Type.Integer({
      description: 'Number of deliveries to the group, including this one.',
    }),
  }),
)

/** Request message from a consumer. */
export const Consuming: TUnsafe<ConsumeMessage> = Type.Unsafe(
  Type.Object({
    topic: name(
      'Topic of the namespace; set in the first message, like all fields up to max_in_flight.',
    ),
    group: name('Consumer group that shares the events; empty for a temporary group.'),
    offset: seconds('Start time of a new group; 0 for new events only.'),
    offset_ms: milliseconds('Like offset, in milliseconds.'),
    sequence: sequence('Start sequence of a new group; 0 to use offset.'),
    auto_ack: Type.Boolean({
      default: true,
      description: 'Acknowledge events when they are sent.',
    }),
    ack_wait: Long({
      max: MAX_WAIT_NS,
      description: 'Redelivery timeout of unacknowledged events in nanoseconds.',
    }),
    retry_limit: Long({
      min: -1,
      max: Number.MAX_SAFE_INTEGER,
      default: -1,
      description:
        'Maximum number of redeliveries before an event becomes a dead letter; -1 for unlimited.',
    }),
    max_in_flight: Long({
      max: MAX_IN_FLIGHT,
      description: 'Maximum number of unacknowledged events; 0 for 1000.',
    }),
    id: Type.String({ default: '', description: 'Id of the acknowledged or rejected event.' }),
    success: Type.Boolean({
      default: false,
      description: 'Acknowledge the event; false to redeliver it.',
    }),
    delay: Long({ max: MAX_WAIT_NS, description: 'Delay of the redelivery in nanoseconds.' }),
  }),
)

export function toMessage(topic: string, event: StoredEvent): EventMessage {
  const { id, metadata, payload, timestampMs, sequence } = event
  const timestamp = Math.floor(timestampMs / 1000)
  return { id, topic, metadata, payload, timestamp, timestamp_ms: timestampMs, sequence }
}

export function toDelivery(topic: string, { event, attempt }: ConsumedEvent): DeliveryMessage {
  const { id, metadata, payload, timestampMs, sequence } = event
  const timestamp = Math.floor(timestampMs / 1000)
  return { id, topic, metadata, payload, timestamp, timestamp_ms: timestampMs, sequence, attempt }
}

/** Combines a time specified in two units. Returns undefined if neither is set. */
export function toTimeMs(seconds: number, milliseconds: number): number | undefined {
  return milliseconds || seconds * 1000 || undefined
}

/** Rounds nanoseconds up to milliseconds. */
export function toWaitMs(nanoseconds: number): number {
  return Math.ceil(nanoseconds / 1e6)
}
