import type { Span, SpanContext, SpanKind, Tracer } from '../../core/contracts/tracer.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { findSpanContext } from '../../core/tracing/trace-headers.ts'
import type { UpstreamNode } from '../../core/upstream/node-health.ts'
import { CLIENT_CLOSED_REQUEST } from '../client/client-closed-request.ts'

/** A call, as its spans tell of it. */
interface TracedCall {
  readonly service: string
  readonly endpoint: string
  /** Metadata block: says where the call stands. */
  readonly metadata: string
}

/** What probes and operators ask: it is in no trace. */
const DEBUG = 'Debug.'
/** Of a metadata block, whose values hold no line ends. */
const OF_THE_TRACE = /^trace(?:parent|state):.*\r\n/gm

/** Where a call stands in a trace, by its metadata. Undefined: nowhere. */
export function findCallPlace(metadata: string): SpanContext | undefined {
  return metadata === '' ? undefined : findSpanContext((name) => findMetadata(metadata, name))
}

/**
 * Begins the span of a call; undefined: it has none.
 *
 * @param begins whether a call that is in no trace begins one.
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

/** Tells where a call goes. */
export function setNode(span: Span, { id, host, port }: UpstreamNode, attempt: number): void {
  if (!span.isRecording) return
  const again = attempt > 1 ? { 'mx.attempt': attempt } : {}
  span.set({ 'server.address': host, 'server.port': port, 'mx.node': id, ...again })
}

/** The metadata a call goes on with: what happens there is part of the span. */
export function carrySpan(metadata: string, { traceparent, tracestate }: Span): string {
  const own =
    tracestate === ''
      ? `traceparent: ${traceparent}\r\n`
      : `traceparent: ${traceparent}\r\ntracestate: ${tracestate}\r\n`
  return own + metadata.replace(OF_THE_TRACE, '')
}

/**
 * Ends the span of a call.
 *
 * @param code 200, or the status of its error: for whoever serves, a wrong request is none.
 * @param detail of an error from 500; what others say may repeat the request, and is not told.
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
