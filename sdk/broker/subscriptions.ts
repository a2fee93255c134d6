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
  /** What messages look like: one that does not fit is logged and dropped. @default anything */
  readonly message?: S
  /**
   * When 10,000 messages wait: `drop-new` goes without those that come, `drop-old` without those that wait longest, `end` ends the
   * subscription. What is dropped is logged, and counted. @default 'drop-new'
   */
  readonly whenSlow?: OverflowPolicy
}

/** A subscription that is wanted. */
interface Wanted {
  readonly topic: string
  readonly begin: (broker: CheckedBroker) => Maybe<Unsubscribe>
}

/** Codes of what may be otherwise soon: a broker that is not there yet, or does not answer. */
const PASSING = [404, 408, 429]

/** The subscriptions of a service (specification: Events, Broker). */
export class Subscriptions {
  readonly #service: string
  readonly #log: PluginLog
  readonly #traces: Traces | undefined
  readonly #wanted: Wanted[] = []
  readonly #running: Unsubscribe[] = []
  readonly #stop = new AbortController()
  /** Messages that are being handled, and subscriptions that are tried again. */
  readonly #busy = new Set<Promise<void>>()

  /** @param service name of the service, which contexts tell. @param traces makes spans of messages. */
  constructor(service: string, log: PluginLog, traces?: Traces) {
    this.#service = service
    this.#log = log
    this.#traces = traces
  }

  /** How many are wanted. */
  get size(): number {
    return this.#wanted.length
  }

  /** Remembers a subscription. @throws {TypeError} when the schema is none. */
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
      onEnd: (err: GatewayError) => log.error({ err, topic }, 'a subscription has ended'),
    }
    this.#wanted.push({ topic, begin: (broker) => broker.subscribe(topic, handler, options) })
  }

  /**
   * Subscribes. A broker that is not there yet is told of later: the log says so, and it is tried again until there is one.
   *
   * @throws {GatewayError} 400 for a topic or queue that is none, and whatever the broker refuses with.
   */
  async begin(broker: CheckedBroker): Promise<void> {
    for (const wanted of this.#wanted) {
      try {
        this.#running.push(await wanted.begin(broker))
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#log.warn({ err: error, topic: wanted.topic }, 'cannot subscribe yet; trying again')
        void this.#track(this.#retry(broker, wanted))
      }
    }
  }

  /** Takes no more messages; resolves when those that are being handled are done. */
  async end(): Promise<void> {
    await this.leave()
    await Promise.allSettled([...this.#busy])
  }

  /** Takes no more messages. */
  async leave(): Promise<void> {
    this.#stop.abort()
    for (const unsubscribe of this.#running.splice(0)) {
      try {
        await unsubscribe()
      } catch (error) {
        this.#log.warn({ err: error }, 'could not unsubscribe')
      }
    }
  }

  async #retry(broker: CheckedBroker, { topic, begin }: Wanted): Promise<void> {
    const { signal } = this.#stop
    const backOff = createBackOff()
    let told = ''
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
        if (!isPassing(error) && message !== told)
          this.#log.error({ err: error, topic }, 'cannot subscribe; trying again')
        told = message
      }
    }
  }

  #track(work: Promise<void>): Promise<void> {
    const busy = work.finally(() => this.#busy.delete(busy))
    this.#busy.add(busy)
    return busy
  }
}

/** Writes into a log what becomes of messages. */
export function toReports(log: PluginLog): Pick<DeliveryOptions, 'onError' | 'onDrop'> {
  return {
    onError: ({ topic }, error) => log.error({ err: error, topic }, 'a subscriber failed'),
    onDrop: ({ topic }, count) =>
      log.warn({ topic, count }, 'a subscriber is too slow: messages dropped'),
  }
}

/** Writes into a log how subscriptions of the platform's broker fare. */
export function toBrokerLog(
  log: PluginLog,
): Required<Pick<PlatformBrokerOptions, 'onWarning' | 'onInfo'>> {
  return {
    onWarning: (message) => log.warn({}, message),
    onInfo: (message) => log.info({}, message),
  }
}

/** Whether an error of subscribing may be none the next time. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof GatewayError) || isPermanent(error.cause)) return false
  return error.code >= 500 || PASSING.includes(error.code)
}
