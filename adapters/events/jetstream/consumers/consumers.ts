import { randomInt, randomUUID } from 'node:crypto'
import type { ConsumerInfo } from '@nats-io/jetstream'
import { isMissing } from '../errors.ts'
import type { Session } from '../session.ts'
import type { ConsumerStart } from './start.ts'

/** What is asked of a consumer that is not kept: it ends when nobody has pulled for a while, or with its server. */
export interface PassingConsumer {
  readonly start: ConsumerStart
  /** Undefined: nothing is acknowledged. */
  readonly ackWaitMs: number | undefined
  readonly idleMs: number
  /** @default all subjects of the stream */
  readonly subject?: string
}

/** What is asked of the consumer of a group. */
export interface GroupConsumer {
  readonly name: string
  readonly start: ConsumerStart
  readonly ackWaitMs: number
  /** Events with an earlier timestamp are not for the group. The server keeps it with the consumer. */
  readonly sinceMs: number | undefined
}

/** Events a group may hold that are not acknowledged. */
const MAX_HELD = 10_000
const NANOS = 1e6
/** Pulls that may wait for events of a group, at least, and at most: more take room. */
const MIN_WAITING = 512
const MAX_WAITING = 4096
const SINCE = / since (\d+)$/

export function addPassing(
  { consumers }: Session,
  stream: string,
  { start, ackWaitMs, idleMs, subject }: PassingConsumer,
): Promise<ConsumerInfo> {
  return consumers.add(stream, {
    ...start,
    // Names of groups have no plus.
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

/** Undefined: there is none, or no stream. */
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

/** Nobody waits for it: one that is not kept ends anyway. */
export function removePassing(session: Session, { stream_name, name }: ConsumerInfo): void {
  session.tell({ subject: `$JS.API.CONSUMER.DELETE.${stream_name}.${name}` })
}

/**
 * What tells the consumer from others that had its name: a number the server lets nobody change. It says twice not quite alike when it
 * made a consumer; and of two servers that make the same one, with a number each, one fails.
 */
export function parseRun({ config }: ConsumerInfo): string {
  return String(config.max_waiting)
}

/** The time that {@link addGroup} noted. */
export function parseSince({ config }: ConsumerInfo): number | undefined {
  const [, since] = SINCE.exec(config.description ?? '') ?? []
  return since === undefined ? undefined : Number(since)
}

function toAcks(ackWaitMs: number | undefined) {
  if (ackWaitMs === undefined) return { ack_policy: 'none' } as const
  return {
    ack_policy: 'explicit',
    ack_wait: ackWaitMs * NANOS,
    max_ack_pending: MAX_HELD,
    max_deliver: -1,
  } as const
}
