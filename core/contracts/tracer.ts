/** Where in a trace something happens (W3C Trace Context §3): what `traceparent` and `tracestate` say. */
export interface SpanContext {
  /** 32 digits, hexadecimal, lower case. */
  readonly traceId: string
  /** 16 digits, hexadecimal, lower case. */
  readonly spanId: string
  /** Whether whoever began the trace has it recorded. */
  readonly isSampled: boolean
  /** List members as they are passed on; empty: none. */
  readonly tracestate: string
  /** Whether another process told of it. */
  readonly isRemote: boolean
}

/** The part somebody has in a request: answers it, sends it on, or the same with messages. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer'

/** What is said about a span, by names of the OpenTelemetry semantic conventions. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanOptions {
  readonly kind: SpanKind
  /** What it is part of. @default it begins a trace */
  readonly parent?: SpanContext | undefined
  /** What it has to do with, without being part of it. */
  readonly link?: SpanContext | undefined
  /** `performance.now()`. @default now */
  readonly startMs?: number
}

/** Something that takes time, as part of a trace. None of its methods throws. */
export interface Span extends SpanContext {
  /** Whether it will be told to anybody: what is said about another one goes nowhere. */
  readonly isRecording: boolean
  /** The field of whatever it causes (W3C Trace Context §3.2). */
  readonly traceparent: string
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** It failed. @param type of few values: a status, a kind. */
  fail(type: string, detail?: string): void
  /** It is over. Called once. */
  end(): void
}

/** Begins the spans of one service or gateway. */
export interface Tracer {
  readonly start: (name: string, options: SpanOptions) => Span
}
