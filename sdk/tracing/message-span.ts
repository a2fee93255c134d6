import type { Span, SpanOptions, Tracer } from '../../core/contracts/tracer.ts'
import { GatewayError } from '../../core/errors.ts'
import {
  findSpanContext,
  pickTraceHeaders,
  type TraceHeaders,
} from '../../core/tracing/trace-headers.ts'
import type { Context } from '../context.ts'
import { metadata } from '../context.ts'
import type { Traces } from './traces.ts'

/** A message or event with a span. */
interface TracedMessage {
  /** `broker` or `events`. */
  readonly system: string
  readonly topic: string
  readonly group?: string | undefined
  readonly id?: string | undefined
}

/** Headers of a message, or metadata of an event. */
type Fields = Readonly<Record<string, string>>

/** Trace fields of the current call; empty if it is not part of a trace. */
export function toTraceFields(context: Context | undefined): Partial<TraceHeaders> {
  if (context === undefined) return {}
  return pickTraceHeaders((name) => metadata.get(context, name)[0] || undefined) ?? {}
}

/** Starts the span of a published message; undefined if it is not traced. */
export function beginSend(
  traces: Traces | undefined,
  message: TracedMessage,
  context: Context | undefined,
): Span | undefined {
  const { tracer, begins } = traces ?? {}
  if (tracer === undefined) return undefined
  const parent = findSpanContext((name) => toTraceFields(context)[name as keyof TraceHeaders])
  return begins || parent !== undefined
    ? begin(tracer, 'send', message, { kind: 'producer', parent })
    : undefined
}

/** Starts the span of a handled message in the trace of its publisher; undefined if it is not traced. */
export function beginProcess(
  traces: Traces | undefined,
  message: TracedMessage,
  fields: Fields,
): Span | undefined {
  const { tracer, begins } = traces ?? {}
  if (tracer === undefined) return undefined
  const parent = findSpanContext((name) => fields[name])
  return begins || parent !== undefined
    ? begin(tracer, 'process', message, { kind: 'consumer', parent })
    : undefined
}

/** Headers of a message with the trace context of a span. */
export function carryFields(fields: Fields, { traceparent, tracestate }: Span): Fields {
  const { tracestate: _, ...otherFields } = fields
  return { ...otherFields, traceparent, ...(tracestate !== '' && { tracestate }) }
}

/** Ends a span, with or without an error. Errors below 500 may quote a request, so they are not exported. */
export function endMessage(span: Span | undefined, error?: unknown): void {
  if (error !== undefined) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    const isLogged = !(error instanceof GatewayError) || error.code >= 500
    span?.fail(name, isLogged ? message : undefined)
  }
  span?.end()
}

function begin(
  tracer: Tracer,
  operation: 'send' | 'process',
  { system, topic, group, id }: TracedMessage,
  options: SpanOptions,
): Span {
  const span = tracer.start(`${operation} ${topic}`, options)
  if (span.isRecording)
    span.set({
      'messaging.system': system,
      'messaging.operation.type': operation,
      'messaging.operation.name': operation,
      'messaging.destination.name': topic,
      'messaging.consumer.group.name': group,
      'messaging.message.id': id,
    })
  return span
}
