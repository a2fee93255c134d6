/** Position in a trace: content of `traceparent` and `tracestate` (W3C Trace Context §3). */
export interface SpanContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  /** Whether the trace is sampled. */
  readonly isSampled: boolean
  /** List members to propagate; empty if none. */
  readonly tracestate: string
  /** Whether it was received from another process. */
  readonly isRemote: boolean
}

/** Role in a request or a message (OpenTelemetry: SpanKind). */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer'

/** Attributes by names of the OpenTelemetry semantic conventions. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanOptions {
  readonly kind: SpanKind
  /** Parent span. @default starts a new trace */
  readonly parent?: SpanContext | undefined
  /** Related span that is not the parent. */
  readonly link?: SpanContext | undefined
  /** `performance.now()`. @default now */
  readonly startMs?: number
}

/** An operation in a trace. None of its methods throws. */
export interface Span extends SpanContext {
  /** Whether the span will be exported; attributes of other spans are ignored. */
  readonly isRecording: boolean
  /** Header for outgoing requests (W3C Trace Context §3.2). */
  readonly traceparent: string
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. @param type low-cardinality value, such as a status or a kind. */
  fail(type: string, detail?: string): void
  /** Ends the span. Called once. */
  end(): void
}

/** Starts the spans of a service or gateway. */
export interface Tracer {
  readonly start: (name: string, options: SpanOptions) => Span
}
