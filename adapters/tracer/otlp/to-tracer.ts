import type * as api from '@opentelemetry/api'
import type {
  Span,
  SpanAttributes,
  SpanContext,
  SpanKind,
  SpanOptions,
  Tracer,
} from '../../../core/contracts/tracer.ts'
import { formatTraceparent } from '../../../core/tracing/span-context.ts'
import { readSpanOrigin } from './span-clock.ts'

/** Subset of the library that is used here. */
type Api = Pick<
  typeof api,
  'createTraceState' | 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'TraceFlags' | 'trace'
>

/** Adapts an OpenTelemetry tracer to the tracer contract. */
export function toTracer(otel: Api, tracer: api.Tracer): Tracer {
  const { ROOT_CONTEXT, SpanKind: Kind, trace } = otel
  const kinds: Readonly<Record<SpanKind, api.SpanKind>> = {
    server: Kind.SERVER,
    client: Kind.CLIENT,
    producer: Kind.PRODUCER,
    consumer: Kind.CONSUMER,
  }
  return {
    start(name: string, options: SpanOptions): Span {
      const { kind, parent, link, startMs = performance.now() } = options
      const originMs = readSpanOrigin()
      const context =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(otel, parent))
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: originMs + startMs,
          ...(link !== undefined && { links: [{ context: toSpanContext(otel, link) }] }),
        },
        context,
      )
      return new OtlpSpan(otel, span, parent?.tracestate ?? '', originMs)
    },
  }
}

class OtlpSpan implements Span {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  readonly tracestate: string
  readonly isRemote = false
  readonly isRecording: boolean
  readonly traceparent: string
  readonly #otel: Api
  readonly #span: api.Span
  readonly #originMs: number

  constructor(otel: Api, span: api.Span, tracestate: string, originMs: number) {
    const { traceId, spanId, traceFlags } = span.spanContext()
    this.traceId = traceId
    this.spanId = spanId
    this.isSampled = (traceFlags & otel.TraceFlags.SAMPLED) !== 0
    this.tracestate = tracestate
    this.isRecording = span.isRecording()
    this.traceparent = formatTraceparent(traceId, spanId, this.isSampled)
    this.#otel = otel
    this.#span = span
    this.#originMs = originMs
  }

  rename(name: string): void {
    this.#span.updateName(name)
  }

  set(attributes: SpanAttributes): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.#span.setAttribute(name, value)
  }

  fail(type: string, detail = ''): void {
    const { ERROR } = this.#otel.SpanStatusCode
    this.#span.setAttribute('error.type', type)
    this.#span.setStatus({ code: ERROR, ...(detail !== '' && { message: detail }) })
  }

  end(): void {
    // The default end time would be rounded to milliseconds.
    this.#span.end(this.#originMs + performance.now())
  }
}

function toSpanContext(
  { createTraceState, TraceFlags }: Api,
  { traceId, spanId, isSampled, tracestate, isRemote }: SpanContext,
): api.SpanContext {
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote,
    ...(tracestate !== '' && { traceState: createTraceState(tracestate) }),
  }
}
