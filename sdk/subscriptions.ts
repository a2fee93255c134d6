import { createBroker } from '../core/broker/broker.ts'
import type { Maybe } from '../core/chain.ts'
import type { Broker, Message, SubscribeOptions, Unsubscribe } from '../core/contracts/broker.ts'
import type { PluginLog } from '../core/define-plugin.ts'
import { parseJson } from '../core/request/json.ts'
import { isJson } from '../core/rpc/context.ts'
import { type Context, createContext } from './context.ts'
import { compileSchema, type Decoded, type Schema } from './schema.ts'

/** Gets the messages of a topic, one after the other. What it throws is logged; the message counts as delivered. */
export type Subscriber<S extends Schema> = (message: Decoded<S>, ctx: Context) => Maybe<void>

export interface SubscriberOptions<S extends Schema> extends SubscribeOptions {
  /** What messages look like: one that does not fit is logged and dropped. @default anything */
  readonly message?: S
}

/** The subscriptions of a service (specification: Events, Broker). */
export class Subscriptions {
  readonly #broker: Broker
  readonly #service: string
  readonly #log: PluginLog
  readonly #wanted: (() => Maybe<Unsubscribe>)[] = []
  #running: Unsubscribe[] = []
  /** Messages that are being handled. */
  readonly #busy = new Set<Promise<void>>()

  /** @param service name of the service, which contexts tell. */
  constructor(adapter: Broker, service: string, log: PluginLog) {
    this.#service = service
    this.#log = log
    this.#broker = createBroker(adapter, {
      onError: ({ topic }, error) => log.error({ err: error, topic }, 'a subscriber failed'),
      onDrop: ({ topic }, count) =>
        log.warn({ topic, count }, 'a subscriber is too slow: messages dropped'),
    })
  }

  /** Remembers a subscription. @throws {TypeError} when the schema is none. */
  add<S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    { message, queue }: SubscriberOptions<S>,
  ): void {
    const schema = compileSchema(message, 'message')
    const handle = async (received: Message): Promise<void> => {
      const value = await schema.decode(toValue(received, topic))
      const context = createContext({
        metadata: received.headers,
        log: this.#log,
        service: this.#service,
        endpoint: topic,
      })
      await subscriber(value as Decoded<S>, context)
    }
    const handler = (received: Message): Promise<void> => {
      const busy = handle(received)
      this.#busy.add(busy)
      return busy.finally(() => this.#busy.delete(busy))
    }
    this.#wanted.push(() =>
      this.#broker.subscribe(topic, handler, queue === undefined ? {} : { queue }),
    )
  }

  /** Subscribes. @throws {GatewayError} 400 for a topic or queue that is none, and whatever the broker throws. */
  async begin(): Promise<void> {
    for (const subscribe of this.#wanted) this.#running.push(await subscribe())
  }

  /** Takes no more messages; resolves when those that are being handled are done. */
  async end(): Promise<void> {
    const running = this.#running
    this.#running = []
    for (const unsubscribe of running) {
      try {
        await unsubscribe()
      } catch (error) {
        this.#log.warn({ err: error }, 'could not unsubscribe')
      }
    }
    await Promise.allSettled([...this.#busy])
  }
}

/** What a message says: of JSON, which it is where nothing else is said, the value, else its bytes. */
function toValue({ headers, body }: Message, topic: string): unknown {
  const type = headers['content-type']
  if (type !== undefined && !isJson(type)) return body
  return body.length === 0 ? {} : parseJson(body, 'message', topic)
}
