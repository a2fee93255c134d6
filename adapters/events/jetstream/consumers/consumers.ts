import { randomInt, randomUUID } from 'node:crypto'
import type { ConsumerInfo } from '@nats-io/jetstream'
import { isMissing } from '../errors.ts'
import type { Session } from '../session.ts'
import type { ConsumerStart } from './start.ts'

/**
 * Options of an ephemeral consumer. The server deletes it when the consumer is idle or the server
 * restarts.
 */
export interface EphemeralConsumer {
  readonly start: ConsumerStart
  /** Acknowledgements are disabled if undefined. */
  readonly ackWaitMs: number | undefined
  readonly idleMs: number
  /** @default all subjects of the stream */
  readonly subject?: string
}

/** Options of a group's consumer. */
export interface GroupConsumer {
  readonly name: string
  readonly start: ConsumerStart
  readonly ackWaitMs: number
  /** Minimum timestamp of events, stored in the consumer's description. */
  readonly sinceMs: number | undefined
}

/** Maximum number of unacknowledged events of a group. */
const MAX_ACK_PENDING = 10_000
const NANOS = 1e6
/** Range of `max_waiting`; larger values use more memory. */
const MIN_WAITING = 512
const MAX_WAITING = 4096
const SINCE = / since (\d+)$/

export function addEphemeral(
  { consumers }: Session,
  stream: string,
  { start, ackWaitMs, idleMs, subject }: EphemeralConsumer,
): Promise<ConsumerInfo> {
  return consumers.add(stream, {
    ...start,
    // Group names contain no plus.
    name: `+${randomUUID()}`,
    ...toAcks(ackWaitMs),
    inactive_threshold: idleMs * NANOS,
    mem_storage: true,
    num_replicas: 1,
    ...(subject !== undefined && { filter_subject: subject }),
  })
}

export function addGroup(
  { consumers }: Session,
  stream: string,
  { name, start, ackWaitMs, sinceMs }: GroupConsumer,
): Promise<ConsumerInfo> {
  return consumers.add(stream, {
    ...start,
    name,
    durable_name: name,
    ...toAcks(ackWaitMs),
    max_waiting: randomInt(MIN_WAITING, MAX_WAITING),
    ...(sinceMs !== undefined && { description: `mx: since ${sinceMs}` }),
  })
}

/** Returns undefined if the consumer or stream does not exist. */
export async function findConsumer(
  { consumers }: Session,
  stream: string,
  name: string,
): Promise<ConsumerInfo | undefined> {
  try {
    return await consumers.info(stream, name)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export async function setAckWait(
  { consumers }: Session,
  { stream_name, name, config }: ConsumerInfo,
  ackWaitMs: number,
): Promise<void> {
  if (config.ack_wait === ackWaitMs * NANOS) return
  await consumers.update(stream_name, name, { ack_wait: ackWaitMs * NANOS })
}

/** Does not wait for a response: the server deletes an idle ephemeral consumer anyway. */
export function removeEphemeral(session: Session, { stream_name, name }: ConsumerInfo): void {
  session.publish({ subject: `$JS.API.CONSUMER.DELETE.${stream_name}.${name}` })
}

/**
 * Returns the random number that distinguishes a consumer from earlier consumers of the same name.
 * It is immutable, whereas servers report the creation time with different precision. If two
 * servers create the consumer with different numbers, one of them fails.
 */
export function parseRun({ config }: ConsumerInfo): string {
  return String(config.max_waiting)
}

/** Returns the timestamp stored by {@link addGroup}. */
export function parseSince({ config }: ConsumerInfo): number | undefined {
  const [, since] = SINCE.exec(config.description ?? '') ?? []
  return since === undefined ? undefined : Number(since)
}

function toAcks(ackWaitMs: number | undefined) {
  if (ackWaitMs === undefined) return { ack_policy: 'none' } as const
  return {
    ack_policy: 'explicit',
    ack_wait: ackWaitMs * NANOS,
    max_ack_pending: MAX_ACK_PENDING,
    max_deliver: -1,
  } as const
}
