import type { Span, SpanAttributes, SpanContext, SpanKind, Tracer } from '../contracts/tracer.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { toClass } from '../metrics/route-counters.ts'
import type { UpstreamNode } from '../upstream/node/upstream-node.ts'
import {
  describeAttempt,
  describeNode,
  describeReply,
  describeRequest,
  nameMethod,
} from './http-attributes.ts'
import { stampTraceparent } from './stamp.ts'

/** Origin of an exchange's trace. */
export interface TraceOrigin {
  readonly parent?: SpanContext | undefined
  readonly link?: SpanContext | undefined
}

/**
 * Spans of an exchange: a server span, and a client span for each attempt. Each attempt has a separate `traceparent`,
 * so that the spans of a node are children of the attempt that reached it.
 */
export class ExchangeTrace {
  readonly #tracer: Tracer
  readonly #span: Span
  #attempt: Span | undefined = undefined
  #attempts = 0

  constructor(tracer: Tracer, x: Exchange, { parent, link }: TraceOrigin) {
    this.#tracer = tracer
    this.#span = tracer.start(nameMethod(x), { kind: 'server', parent, link, startMs: x.startMs })
  }

  get traceId(): string {
    return this.#span.traceId
  }

  /** `traceparent` of the server span. */
  get traceparent(): string {
    return this.#span.traceparent
  }

  /** Starts an attempt and returns the request head with its `traceparent`. */
  sendHead(x: Exchange, node: UpstreamNode, head: string): string {
    return stampTraceparent(head, this.#beginHttp(x, node))
  }

  /** Starts an attempt with a header list: a WebSocket handshake, or a gRPC call. */
  sendFields(x: Exchange, node: UpstreamNode, headers: HeaderList): void {
    const traceparent = this.#beginHttp(x, node)
    if (headers.has('traceparent')) headers.set('traceparent', traceparent)
  }

  /** Starts an attempt of a call and returns the call metadata. */
  sendCall(service: string, endpoint: string, node: UpstreamNode, metadata: string): string {
    const span = this.#begin(`${service}/${endpoint}`, 'client', node)
    if (span.isRecording)
      span.set({ 'rpc.system': 'mx', 'rpc.service': service, 'rpc.method': endpoint })
    return stampTraceparent(metadata, span.traceparent)
  }

  /** Starts publishing a message and returns its `traceparent`. */
  publish(topic: string, id: string): string {
    const span = this.#begin(`send ${topic}`, 'producer')
    if (span.isRecording)
      span.set({
        'messaging.system': 'mx',
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'send',
        'messaging.destination.name': topic,
        'messaging.message.id': id,
      })
    return span.traceparent
  }

  /** Records that the attempt received a response head. */
  answered(status: number): void {
    const attempt = this.#attempt
    if (attempt?.isRecording !== true) return
    attempt.set({ 'http.response.status_code': status })
    // For a client span, 4xx is an error as well (OpenTelemetry: HTTP spans).
    if (status >= 400) attempt.fail(String(status))
  }

  /** Records that the attempt failed. */
  failed(type: string, detail?: string): void {
    this.#attempt?.fail(type, detail)
  }

  /** Ends the attempt. */
  endAttempt(): void {
    this.#attempt?.end()
    this.#attempt = undefined
  }

  /** Ends the server span. */
  end(x: Exchange): void {
    this.endAttempt()
    const span = this.#span
    if (span.isRecording) {
      const { name, attributes } = describeReply(x)
      span.rename(name)
      span.set({ ...describeRequest(x), ...attributes })
      if (toClass(x) >= 5) span.fail(String(x.status === 200 ? x.rpcStatus : x.status), x.failure)
      else if (x.aborted) span.set({ 'error.type': 'aborted' })
    }
    span.end()
  }

  #beginHttp(x: Exchange, node: UpstreamNode): string {
    const span = this.#begin(nameMethod(x), 'client', node)
    if (span.isRecording)
      span.set({
        ...describeAttempt(x, node),
        ...(this.#attempts > 1 && { 'http.request.resend_count': this.#attempts - 1 }),
      })
    return span.traceparent
  }

  #begin(name: string, kind: SpanKind, node?: UpstreamNode): Span {
    this.endAttempt()
    this.#attempts++
    const span = this.#tracer.start(name, { kind, parent: this.#span })
    this.#attempt = span
    if (node !== undefined && span.isRecording) span.set(this.#describe(node))
    return span
  }

  #describe(node: UpstreamNode): SpanAttributes {
    return this.#attempts > 1
      ? { ...describeNode(node), 'mx.attempt': this.#attempts }
      : describeNode(node)
  }
}
