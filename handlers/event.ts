import { randomUUID } from 'node:crypto'
import { toApiEvent } from '../core/api/event.ts'
import type { ApiEvent } from '../core/api/messages.ts'
import { isInternal, toQueryValues } from '../core/api/pairs.ts'
import type { Handler } from '../core/chain.ts'
import type { Message } from '../core/contracts/broker.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { CREDENTIALS } from '../core/http/credential-headers.ts'
import { pickTraceHeaders } from '../core/tracing/trace-headers.ts'
import type { CheckedBroker } from '../domain/broker/broker.ts'
import type { Events } from '../domain/events/events.ts'
import type { Maybe } from '../lib/async/maybe.ts'
import { createNullProto } from '../lib/object/null-proto.ts'

export interface EventOptions {
  /** Broker to publish to. Not closed by the handler. */
  readonly broker?: Pick<CheckedBroker, 'maxBodyBytes' | 'publish'>
  /** Event storage. The response is sent once the event is stored. Not closed by the handler. */
  readonly stream?: Pick<Events, 'maxPayloadBytes' | 'publish'>
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

const EMPTY = new Uint8Array(0)
/** `no-store`, because a GET also publishes and must not be served from a cache. */
const REPLY_HEADERS = ['content-type', 'application/json', 'cache-control', 'no-store']

/** Namespace of requests without `Mx-Namespace`. */
const DEFAULT_NAMESPACE = 'mx'

/**
 * Publishes an HTTP request as a `proto.Event` in JSON to the topic of its path (specification: `event` handler).
 * Responds with 200 and `{"id": "<event id>"}` once the broker has accepted or the storage has stored it, regardless of
 * subscribers; with 413 if it is too large, 503 if broker or storage are unavailable, 507 if the storage is full.
 *
 * Events never contain client credentials. The same event with the same id is stored in the namespace of the request.
 */
export default function event({ broker, stream, nowMs = Date.now }: EventOptions): Handler {
  function publish(x: Exchange, data: Uint8Array): Maybe<void> {
    const { service: topic, endpoint: name } = x.route!
    const id = randomUUID()
    const timestamp = Math.floor(nowMs() / 1000)
    const published = toApiEvent(x, { name, id, timestamp }, data)
    // Subscribers continue the trace from here.
    if (x.trace !== undefined) x.headers.set('traceparent', x.trace.publish(topic, id))
    let pending: Maybe<void>
    try {
      pending = stream === undefined ? send(x, published) : storeEvent(x, published, stream)
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

  function send(x: Exchange, published: ApiEvent): Maybe<void> {
    if (broker === undefined) return
    const topic = x.route!.service
    const body = toBody(published, topic, broker.maxBodyBytes)
    return broker.publish(topic, { headers: toHeaders(x, topic), body })
  }

  async function storeEvent(
    x: Exchange,
    published: ApiEvent,
    stream: NonNullable<EventOptions['stream']>,
  ): Promise<void> {
    const namespace = x.headers.get('mx-namespace') || DEFAULT_NAMESPACE
    const topic = x.route!.service
    await stream.publish(
      { namespace, topic },
      {
        id: published.id,
        payload: toBody(published, topic, stream.maxPayloadBytes),
        metadata: {
          'content-type': 'application/json',
          event: published.name,
          ...pickTraceHeaders((name) => x.headers.getAll(name).join(',') || undefined),
        },
      },
    )
    await send(x, published)
  }

  return {
    name: 'event',
    handle: (x) => {
      if (x.method === 'GET' || x.method === 'HEAD')
        return publish(x, Buffer.from(JSON.stringify(toQueryValues(x))))
      if (x.bodyLength === 0) return publish(x, EMPTY)
      const { maxBodyBytes = Number.POSITIVE_INFINITY } = broker ?? {}
      const { maxPayloadBytes = Number.POSITIVE_INFINITY } = stream ?? {}
      const longest = Math.min(maxBodyBytes, maxPayloadBytes)
      return x.readBody(longest).then((body) => publish(x, body))
    },
  }
}

function reply(x: Exchange, id: string): void {
  x.reply(200, JSON.stringify({ id }), REPLY_HEADERS)
}

/** The limit includes the metadata of the event. @throws {GatewayError} 413 */
function toBody(published: ApiEvent, topic: string, maxBytes: number): Buffer {
  const body = Buffer.from(JSON.stringify(published))
  if (body.length <= maxBytes) return body
  const detail = `request must be at most ${maxBytes} bytes as an event, got ${body.length}`
  throw new GatewayError(topic, 413, detail)
}

/** Returns the request headers without credentials, plus topic and content type of the message. */
function toHeaders(x: Exchange, topic: string): Message['headers'] {
  const headers: Record<string, string> = createNullProto()
  const { flat } = x.headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (isInternal(name) || CREDENTIALS.has(name)) continue
    const known = headers[name]
    headers[name] = known === undefined ? flat[i + 1]! : `${known}, ${flat[i + 1]!}`
  }
  headers['content-type'] = 'application/json'
  headers['mx-topic'] = topic
  return headers
}

/** Rejections by the broker are returned to the client, but not the cause of an outage. */
function toFailure(x: Exchange, topic: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  x.failure = error instanceof Error ? error.message : String(error)
  x.trace?.failed('503', x.failure)
  const detail = `cannot publish to ${topic}: the broker does not accept messages`
  return new GatewayError(topic, 503, detail, { cause: error })
}
