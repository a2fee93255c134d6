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
  /** Schema of messages: others are logged and dropped. @default any message */
  readonly message?: S
  /**
   * Overflow policy when 10,000 messages are buffered: `drop-new` drops incoming messages, `drop-old` the oldest ones,
   * `end` ends the subscription. Dropped messages are logged and counted. @default 'drop-new'
   */
  readonly whenSlow?: OverflowPolicy
}

interface Wanted {
  readonly topic: string
  readonly begin: (broker: CheckedBroker) => Maybe<Unsubscribe>
}

/** Statuses that may change soon: the broker does not exist yet, or is unavailable. */
const PASSING = [404, 408, 429]

/** Subscriptions of a service (specification: Events, Broker). */
export class Subscriptions {
  readonly #service: string
  readonly #log: PluginLog
  readonly #traces: Traces | undefined
  readonly #wanted: Wanted[] = []
  readonly #running: Unsubscribe[] = []
  readonly #stop = new AbortController()
  /** Messages in progress, and subscriptions being retried. */
  readonly #busy = new Set<Promise<void>>()

  /**
   * @param service name of the service, for contexts.
   * @param traces creates spans of messages.
   */
  constructor(service: string, log: PluginLog, traces?: Traces) {
    this.#service = service
    this.#log = log
    this.#traces = traces
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#wanted.length
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
    this.#wanted.push({ topic, begin: (broker) => broker.subscribe(topic, handler, options) })
  }

  /**
   * Subscribes. If the broker is unavailable, this is logged and retried until it is available.
   *
   * @throws {GatewayError} 400 for an invalid topic or queue, and permanent errors of the broker.
   */
  async begin(broker: CheckedBroker): Promise<void> {
    for (const wanted of this.#wanted) {
      try {
        this.#running.push(await wanted.begin(broker))
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#log.warn({ err: error, topic: wanted.topic }, 'subscribing failed, retrying')
        void this.#track(this.#retry(broker, wanted))
      }
    }
  }

  /** Accepts no more messages; resolves when the messages in progress are handled. */
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

  async #retry(broker: CheckedBroker, { topic, begin }: Wanted): Promise<void> {
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
        if (!isPassing(error) && message !== logged)
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

/** Logs failed and dropped messages. */
export function toReports(log: PluginLog): Pick<DeliveryOptions, 'onError' | 'onDrop'> {
  return {
    onError: ({ topic }, error) => log.error({ err: error, topic }, 'subscriber failed'),
    onDrop: ({ topic }, count) =>
      log.warn({ topic, count }, 'subscriber too slow, messages dropped'),
  }
}

/** Logs the state of the platform broker's subscriptions. */
export function toBrokerLog(
  log: PluginLog,
): Required<Pick<PlatformBrokerOptions, 'onWarning' | 'onInfo'>> {
  return {
    onWarning: (message) => log.warn({}, message),
    onInfo: (message) => log.info({}, message),
  }
}

/** True for temporary errors. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof GatewayError) || isPermanent(error.cause)) return false
  return error.code >= 500 || PASSING.includes(error.code)
}
