import { randomUUID } from 'node:crypto'
import { toApiEvent } from '../core/api/event.ts'
import { isInternal, toQueryValues } from '../core/api/pairs.ts'
import type { CheckedBroker } from '../core/broker/broker.ts'
import type { Handler, Maybe } from '../core/chain.ts'
import type { Message } from '../core/contracts/broker.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { createBare } from '../core/request/bare.ts'

export interface EventOptions {
  /** Where events are published. Its owner closes it. */
  readonly broker: CheckedBroker
  /** Milliseconds since 1970. @default Date.now */
  readonly nowMs?: () => number
}

const EMPTY = new Uint8Array(0)
/** A GET publishes, too: no cache between answers it. */
const REPLY_FIELDS = ['content-type', 'application/json', 'cache-control', 'no-store']

/**
 * Publishes any HTTP request as a `proto.Event`, in JSON, to the topic its path names (specification: handler
 * `event`). Answers 200 with `{"id": "<event id>"}` once the broker has it, which says nothing about
 * who gets it; 413 for more than the broker takes, 503 when it takes nothing.
 */
export default function event({ broker, nowMs = Date.now }: EventOptions): Handler {
  function publish(x: Exchange, data: Uint8Array): Maybe<void> {
    const { service: topic, endpoint: name } = x.route!
    const id = `${topic}-${name}-${randomUUID()}`
    const timestamp = Math.floor(nowMs() / 1000)
    const body = Buffer.from(JSON.stringify(toApiEvent(x, { name, id, timestamp }, data)))
    let pending: Maybe<void>
    try {
      pending = broker.publish(topic, { headers: toHeaders(x, topic), body })
    } catch (error) {
      throw toFailure(x, topic, error)
    }
    if (!(pending instanceof Promise)) return reply(x, id)
    return pending.then(
      () => reply(x, id),
      (error: unknown) => {
        throw toFailure(x, topic, error)
      },
    )
  }

  return {
    name: 'event',
    handle: (x) => {
      if (x.method === 'GET' || x.method === 'HEAD')
        return publish(x, Buffer.from(JSON.stringify(toQueryValues(x))))
      if (x.bodyLength === 0) return publish(x, EMPTY)
      return x.readBody(broker.maxBodyBytes).then((body) => publish(x, body))
    },
  }
}

function reply(x: Exchange, id: string): void {
  x.reply(200, JSON.stringify({ id }), REPLY_FIELDS)
}

/** The context of the request, and what the message is. */
function toHeaders(x: Exchange, topic: string): Message['headers'] {
  const headers: Record<string, string> = createBare()
  const { flat } = x.headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (isInternal(name)) continue
    const known = headers[name]
    headers[name] = known === undefined ? flat[i + 1]! : `${known}, ${flat[i + 1]!}`
  }
  headers['content-type'] = 'application/json'
  headers['mx-topic'] = topic
  return headers
}

/** What the broker refused is the client's to know; why it cannot be reached is not. */
function toFailure(x: Exchange, topic: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  x.failure = error instanceof Error ? error.message : String(error)
  const detail = `cannot publish to ${topic}: the broker takes no messages`
  return new GatewayError(topic, 503, detail, { cause: error })
}
