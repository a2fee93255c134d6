import type { EventGroup, EventStart, EventTopic } from '../../core/contracts/events.ts'
import {
  checkName,
  checkNumber,
  checkRetries,
  checkStart,
  checkTopic,
  MAX_IN_FLIGHT,
  MAX_WAIT_MS,
} from './checks.ts'
import type { Acks, ConsumerOptions } from './consumer.ts'

export interface ConsumeOptions {
  /** Consumer group that shares the events and its position. @default a temporary group */
  readonly group?: string
  /** Start of a new group. @default new events only */
  readonly start?: EventStart
  /** Whether to acknowledge events when more are requested. @default true */
  readonly autoAck?: boolean
  /**
   * Redelivery timeout of unacknowledged events in milliseconds, from 1 ms to one day. Required
   * without `autoAck`.
   */
  readonly ackWaitMs?: number
  /**
   * Maximum number of redeliveries before an event becomes a dead letter; -1 for unlimited.
   *
   * @default -1
   */
  readonly retryLimit?: number
  /** Maximum number of unacknowledged events in flight. @default 1000 */
  readonly maxInFlight?: number
}

/** Redelivery timeout with automatic acknowledgement, which is only reached if a server dies. */
const AUTO_ACK_WAIT_MS = 60_000

/** Validated options for a consumer. */
export interface Consumption {
  readonly acks: Acks
  readonly group: EventGroup
  readonly settings: Pick<ConsumerOptions, 'ackWaitMs' | 'retryLimit' | 'maxInFlight'>
}

/** @throws {GatewayError} 400 */
export function toConsumption(topic: EventTopic, consumption: ConsumeOptions): Consumption {
  const { group, start = {}, autoAck = true, retryLimit = -1, maxInFlight = 1000 } = consumption
  const { ackWaitMs = autoAck ? AUTO_ACK_WAIT_MS : 0 } = consumption
  checkTopic(topic)
  if (group !== undefined) checkName('group', group)
  checkStart(start)
  checkNumber('ackWaitMs', ackWaitMs, 1, MAX_WAIT_MS)
  checkRetries(topic, retryLimit)
  checkNumber('maxInFlight', maxInFlight, 1, MAX_IN_FLIGHT)
  const acks: Acks = autoAck ? (group === undefined ? 'none' : 'auto') : 'owner'
  return {
    acks,
    settings: { ackWaitMs, retryLimit, maxInFlight },
    group: { name: group, start, ackWaitMs: acks === 'none' ? undefined : ackWaitMs },
  }
}
