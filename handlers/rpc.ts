import type { Handler } from '../core/chain.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { shapeOf } from '../core/request/coercion/shape.ts'
import { decodeBody, hasEncodedBody } from '../core/request/decode-body.ts'
import { unwrapEnvelope } from '../core/request/jsonrpc.ts'
import { type RequestType, toRequestType } from '../core/request/media-type.ts'
import { formatPlainQuery } from '../core/request/query/plain-query.ts'
import { toRequestDocument } from '../core/request/request-document.ts'
import { formatContext, isJson, JSON_REPLY } from '../core/rpc/context-headers.ts'
import { BODY_MAX_BYTES, type CallLimits, GatewayCall } from '../core/rpc/gateway-call.ts'
import { withGrpcStatus } from '../core/rpc/grpc/status.ts'
import { findWire } from '../core/rpc/grpc/wire-format.ts'
import { LINES } from '../core/rpc/http/ndjson.ts'
import { findMetadata } from '../core/rpc/metadata.ts'
import { forward } from '../core/upstream/forward.ts'
import { FramedCall } from './rpc/grpc-call.ts'
import { NDJSON_HEADERS, NdjsonReply } from './rpc/ndjson-reply.ts'
import { SocketCall } from './rpc/socket-call.ts'
import { EVENT_STREAM, SSE_HEADERS, SseReply } from './rpc/sse-reply.ts'
import type { StreamReply } from './rpc/stream-reply.ts'

export interface RpcOptions extends CallLimits {
  /** Maximum size of a WebSocket message in bytes. @default 16777216 */
  readonly maxMessageBytes?: number
}

const EMPTY_JSON = '{}'
/** Content type of unary Connect calls with protobuf. */
const CONNECT_PROTO = 'application/proto'
const JSON_TYPE = 'application/json'
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
const ALLOW = ['allow', `${[...METHODS].join(', ')}, OPTIONS`]

/**
 * Calls endpoints for HTTP requests (specification: `rpc` handler). Path variables, query and body form one request
 * document, and headers form the context of the call. JSON and protobuf bodies are forwarded unparsed, json-rpc and
 * proto-rpc bodies without their envelopes. Errors of requests with a gRPC content type include the gRPC status.
 *
 * gRPC, gRPC-Web and Connect calls are supported. For gRPC services, they are forwarded unchanged.
 *
 * A streaming endpoint responds with server-sent events for `Accept: text/event-stream`, over a WebSocket if requested
 * by the client, and otherwise with one JSON document per line.
 */
export default function rpc(options: RpcOptions): Handler {
  return {
    name: 'rpc',
    handle: (x) => {
      if (x.upstream?.grpc) return forward(x)
      // Fast path for the common methods.
      if (x.method !== 'GET' && x.method !== 'POST' && !METHODS.has(x.method)) {
        if (x.method === 'OPTIONS') return x.reply(204, '', ALLOW)
        throw rejectMethod(x)
      }
      if (!x.upgrade) return call(x, options)
      new SocketCall(x, options, options.maxMessageBytes).open()
    },
  }
}

function rejectMethod({ method, route }: Exchange): GatewayError {
  const detail = `method not allowed; expected ${[...METHODS].join(', ')}, got ${method.slice(0, 100)}`
  return new GatewayError(route?.service ?? GATEWAY_ID, 405, detail, { headers: ALLOW })
}

function call(x: Exchange, options: RpcOptions): void | Promise<void> {
  const type = x.headers.get('content-type')
  if (type !== undefined && type !== JSON_TYPE && x.method === 'POST') {
    const wire = findWire(type, x.httpVersion === '2')
    if (wire !== undefined) return new FramedCall(x, options, wire).open()
  }
  const fail = (error: unknown): never => {
    throw withGrpcStatus(GatewayError.from(error, x.route?.service), type)
  }
  try {
    const started = new RpcCall(x, options, type)
    if (!hasEncodedBody(x)) return started.collect()
    return decodeBody(x, BODY_MAX_BYTES, started.service)
      .then(() => {
        if (!x.answered) started.collect()
      })
      .catch(fail)
  } catch (error) {
    fail(error)
  }
}

/** An HTTP request as a call with a unary or streaming response. */
class RpcCall extends GatewayCall {
  readonly #type: RequestType
  #stream: StreamReply | undefined = undefined

  constructor(x: Exchange, limits: CallLimits, contentType: string | undefined) {
    super(x, limits)
    this.#type = toRequestType(contentType, this.service)
  }

  protected begin(body: Uint8Array): void {
    const { x, declared } = this
    const type = this.#type
    const request = body.length === 0 ? body : unwrapEnvelope(type, body, this.service)
    const { query } = x
    const variables = x.route!.variables?.flat() ?? NO_VARIABLES
    const shape = declared === undefined ? undefined : shapeOf(declared)
    const isPlain = query !== '' && body.length === 0 && variables.length === 0
    const plain = isPlain && type.kind !== 'protobuf' ? formatPlainQuery(query, shape) : undefined
    this.ascii = plain !== undefined
    this.body =
      plain ?? toRequestDocument({ variables, query, type, body: request, shape }, this.service)
    const isGenerated = typeof this.body === 'string'
    // A created document is JSON, and an unwrapped body no longer has the content type of its envelope.
    if ((isGenerated || request !== body) && x.headers.has('content-type')) {
      const isProtobuf = !isGenerated && type.kind === 'protobuf'
      x.headers.set('content-type', isProtobuf ? 'application/protobuf' : 'application/json')
    }
    this.metadata = formatContext(x)
    this.stream = true
    this.dispatch()
  }

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    const headers = this.toHeaders(metadata, JSON_REPLY)
    if (headers === undefined) return
    if (this.#type.type === CONNECT_PROTO && this.x.headers.has('connect-protocol-version')) {
      headers.set('content-type', CONNECT_PROTO)
      return this.x.send(200, headers, body)
    }
    if (body.length > 0) return this.x.send(200, headers, body)
    const type = metadata === '' ? undefined : findMetadata(metadata, 'content-type')
    // The HTTP transport has no content type for an empty body, so the content type of the request is assumed.
    const isEmpty = type === undefined ? this.#type.kind === 'protobuf' : !isJson(type)
    if (!isEmpty) return this.x.send(200, headers, EMPTY_JSON)
    headers.delete('content-type')
    this.x.send(204, headers, body)
  }

  override onStart(metadata: string): void {
    if (!this.isSettled) this.#begin(metadata)
  }

  override onData(body: Uint8Array): void {
    if (this.isSettled) return
    if (this.#stream === undefined) this.#begin('')
    this.#stream?.data(body)
  }

  override onEnd(): void {
    if (this.isSettled) return
    if (this.#stream === undefined) this.#begin('')
    if (this.isSettled) return
    this.done()
    this.#stream?.end()
  }

  override onDrain(): void {
    this.#stream?.drained()
  }

  onRevoke(error: GatewayError): void {
    if (this.isSettled) return this.x.abortWith(error)
    this.#drop()
    this.failed(error)
  }

  protected override failed(error: GatewayError): void {
    if (this.#stream === undefined) super.failed(withGrpcStatus(error, this.#type.type))
    else this.#stream.fail(error)
  }

  /** Starts a streaming response. Ends the call if the response has no body. */
  #begin(metadata: string): void {
    this.answered()
    const { x } = this
    const type = findMetadata(metadata, 'content-type')
    if (type !== undefined && !isJson(type)) {
      this.#drop()
      const detail = `a stream of ${type} requires a WebSocket; over HTTP, streams are JSON`
      return this.failed(new GatewayError(this.service, 406, detail))
    }
    const events = x.headers.get('accept')?.includes('text/event-stream') === true
    const headers = this.toHeaders(metadata, events ? SSE_HEADERS : NDJSON_HEADERS)
    if (headers === undefined) return this.#drop()
    if (type !== undefined) headers.set('content-type', events ? EVENT_STREAM : LINES)
    this.#stream = events ? new SseReply(x, this, headers) : new NdjsonReply(x, this, headers)
    // A response to HEAD has no body.
    if (x.method === 'HEAD' && !this.isSettled) this.#drop()
  }

  #drop(): void {
    this.cancel()
    this.done()
  }
}

const NO_VARIABLES: readonly string[] = []
