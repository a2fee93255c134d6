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

/** How to consume. */
export interface ConsumeOptions {
  /** Shares the events with others of the same name, and goes on where they were. @default a group of its own, which is not kept */
  readonly group?: string
  /** Where a group that is not there yet begins. @default with what is published from now on */
  readonly start?: EventStart
  /** Whether events count as acknowledged once more are asked for. @default true */
  readonly autoAck?: boolean
  /** Milliseconds an event may take to be acknowledged, otherwise it comes again: from 1 to a day. Needed without `autoAck`. */
  readonly ackWaitMs?: number
  /** How often an event comes again before it becomes a dead letter; -1: as often as it must. @default -1 */
  readonly retryLimit?: number
  /** Most events that are held: not acknowledged, and in time. @default 1000 */
  readonly maxInFlight?: number
}

/** How long an event may take that is acknowledged when more is asked for: only the end of a server gets in the way. */
const AUTO_ACK_WAIT_MS = 60_000

/** What is to be done, by whom. */
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
