import { setTimeout as delay } from 'node:timers/promises'
import type { Message, SubscribeOptions, Unsubscribe } from '../../core/contracts/broker.ts'
import { GatewayError } from '../../core/errors.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { isPermanent } from '../../core/registry/errors.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import type { DeliveryOptions, OverflowPolicy } from '../../domain/broker/delivery.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Schema } from '../schema/schema.ts'
import type { Traces } from '../tracing/traces.ts'
import { createMessageHandler, type Subscriber } from './message.ts'
import type { PlatformBrokerOptions } from './platform-broker.ts'

export interface SubscriberOptions<S extends Schema> extends SubscribeOptions {
  /** Schema of the messages. Messages that do not match are logged and dropped. @default any message */
  readonly message?: S
  /**
   * Overflow policy when 10,000 messages are buffered: `drop-new` drops incoming messages, `drop-old` the oldest ones,
   * `end` ends the subscription. Dropped messages are logged and counted. @default 'drop-new'
   */
  readonly whenSlow?: OverflowPolicy
}

interface PendingSubscription {
  readonly topic: string
  readonly begin: (broker: CheckedBroker) => Maybe<Unsubscribe>
}

/** Statuses of temporary errors: the broker does not exist yet, or is unavailable. */
const TEMPORARY_STATUSES = [404, 408, 429]

/** Subscriptions of a service (specification: Events, Broker). */
export class Subscriptions {
  readonly #service: string
  readonly #log: PluginLog
  readonly #traces: Traces | undefined
  readonly #pending: PendingSubscription[] = []
  readonly #running: Unsubscribe[] = []
  readonly #stop = new AbortController()
  /** Messages in progress, and subscriptions being retried. */
  readonly #busy = new Set<Promise<void>>()

  /**
   * @param service service name for contexts.
   * @param traces creates message spans.
   */
  constructor(service: string, log: PluginLog, traces?: Traces) {
    this.#service = service
    this.#log = log
    this.#traces = traces
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#pending.length
  }

  /** Adds a subscription. @throws {TypeError} for an invalid schema. */
  add<S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    { message, queue, whenSlow }: SubscriberOptions<S>,
  ): void {
    const [service, log, traces] = [this.#service, this.#log, this.#traces]
    const about = { service, log, traces, ...(queue !== undefined && { queue }) }
    const handle = createMessageHandler(topic, subscriber, message, about)
    const handler = (received: Message): Promise<void> => this.#track(handle(received))
    const options = {
      ...(queue !== undefined && { queue }),
      ...(whenSlow !== undefined && { whenSlow }),
      onEnd: (err: GatewayError) => log.error({ err, topic }, 'subscription ended'),
    }
    this.#pending.push({ topic, begin: (broker) => broker.subscribe(topic, handler, options) })
  }

  /**
   * Subscribes. If the broker is unavailable, the failure is logged and subscribing is retried until it succeeds.
   *
   * @throws {GatewayError} 400 for an invalid topic or queue, and permanent errors of the broker.
   */
  async begin(broker: CheckedBroker): Promise<void> {
    for (const subscription of this.#pending) {
      try {
        this.#running.push(await subscription.begin(broker))
      } catch (error) {
        if (!isTemporary(error)) throw error
        this.#log.warn({ err: error, topic: subscription.topic }, 'subscribing failed, retrying')
        void this.#track(this.#retry(broker, subscription))
      }
    }
  }

  /** Stops accepting messages. Resolves when the messages in progress are handled. */
  async end(): Promise<void> {
    await this.leave()
    await Promise.allSettled([...this.#busy])
  }

  async leave(): Promise<void> {
    this.#stop.abort()
    for (const unsubscribe of this.#running.splice(0)) {
      try {
        await unsubscribe()
      } catch (error) {
        this.#log.warn({ err: error }, 'unsubscribing failed')
      }
    }
  }

  async #retry(broker: CheckedBroker, { topic, begin }: PendingSubscription): Promise<void> {
    const { signal } = this.#stop
    const backOff = createBackOff()
    let logged = ''
    while (!signal.aborted) {
      await delay(backOff.next(), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        this.#running.push(await begin(broker))
        this.#log.info({ topic }, 'subscribed')
        if (signal.aborted) await this.leave()
        return
      } catch (error) {
        const { message } = error as Error
        if (!isTemporary(error) && message !== logged)
          this.#log.error({ err: error, topic }, 'subscribing failed, retrying')
        logged = message
      }
    }
  }

  #track(work: Promise<void>): Promise<void> {
    const busy = work.finally(() => this.#busy.delete(busy))
    this.#busy.add(busy)
    return busy
  }
}

/** Logs message failures and drops. */
export function toReports(log: PluginLog): Pick<DeliveryOptions, 'onError' | 'onDrop'> {
  return {
    onError: ({ topic }, error) => log.error({ err: error, topic }, 'subscriber failed'),
    onDrop: ({ topic }, count) =>
      log.warn({ topic, count }, 'subscriber too slow, messages dropped'),
  }
}

/** Logs state changes of the platform broker's subscriptions. */
export function toBrokerLog(
  log: PluginLog,
): Required<Pick<PlatformBrokerOptions, 'onWarning' | 'onInfo'>> {
  return {
    onWarning: (message) => log.warn({}, message),
    onInfo: (message) => log.info({}, message),
  }
}

/** True for temporary errors. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof GatewayError) || isPermanent(error.cause)) return false
  return error.code >= 500 || TEMPORARY_STATUSES.includes(error.code)
}
