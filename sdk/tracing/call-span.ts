import type { Span, SpanContext, SpanKind, Tracer } from '../../core/contracts/tracer.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { findSpanContext } from '../../core/tracing/trace-headers.ts'
import type { UpstreamNode } from '../../core/upstream/node/upstream-node.ts'
import { CLIENT_CLOSED_REQUEST } from '../client/client-closed-request.ts'

/** A call with a span. */
interface TracedCall {
  readonly service: string
  readonly endpoint: string
  /** Metadata block, with the trace context. */
  readonly metadata: string
}

/** Calls from probes and operators, which are not traced. */
const DEBUG = 'Debug.'
/** Trace headers in a metadata block. */
const TRACE_HEADERS = /^trace(?:parent|state):.*\r\n/gm

/** Trace context of a call, from its metadata; undefined if none. */
export function findCallPlace(metadata: string): SpanContext | undefined {
  return metadata === '' ? undefined : findSpanContext((name) => findMetadata(metadata, name))
}

/**
 * Starts the span of a call; undefined if the call is not traced.
 *
 * @param begins start a new trace if the call has none.
 */
export function beginCall(
  tracer: Tracer,
  kind: SpanKind & ('server' | 'client'),
  { service, endpoint, metadata }: TracedCall,
  begins: boolean,
  startMs: number,
): Span | undefined {
  if (endpoint.startsWith(DEBUG)) return undefined
  const parent = findCallPlace(metadata)
  if (parent === undefined && !begins) return undefined
  const span = tracer.start(`${service}/${endpoint}`, { kind, parent, startMs })
  if (span.isRecording)
    span.set({
      'rpc.system': 'mx',
      'rpc.service': service,
      'rpc.method': endpoint,
      'mx.request_id': findMetadata(metadata, 'x-request-id'),
    })
  return span
}

/** Records the node of a call. */
export function setSpanNode(span: Span, { id, host, port }: UpstreamNode, attempt: number): void {
  if (!span.isRecording) return
  const retryAttributes = attempt > 1 ? { 'mx.attempt': attempt } : {}
  span.set({ 'server.address': host, 'server.port': port, 'mx.node': id, ...retryAttributes })
}

/** Metadata with the trace context of a span, which becomes the parent of subsequent calls. */
export function carrySpan(metadata: string, { traceparent, tracestate }: Span): string {
  const attributes =
    tracestate === ''
      ? `traceparent: ${traceparent}\r\n`
      : `traceparent: ${traceparent}\r\ntracestate: ${tracestate}\r\n`
  return attributes + metadata.replace(TRACE_HEADERS, '')
}

/**
 * Ends the span of a call.
 *
 * @param code 200, or the status of the error. On the server side, client errors are not span errors.
 * @param detail error detail, exported only for status 500 and above, because other details may quote the request.
 */
export function endCall(span: Span, kind: 'server' | 'client', code: number, detail = ''): void {
  if (span.isRecording) {
    span.set({ 'mx.status_code': code })
    if (code === CLIENT_CLOSED_REQUEST) span.set({ 'error.type': 'cancelled' })
    else if (code >= 500) span.fail(String(code), detail)
    else if (code >= 400 && kind === 'client') span.fail(String(code))
  }
  span.end()
}
