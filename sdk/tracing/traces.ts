import { randomBytes } from 'node:crypto'
import type { Tracer } from '../../core/contracts/tracer.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'

/** Direction of a call relative to the service. */
export type SpanType = 'INBOUND' | 'OUTBOUND'

/** A call as returned by `Debug.Trace`. */
export interface Span {
  /** Trace id: from `traceparent` (W3C Trace Context), else the request id, else empty. */
  readonly trace: string
  readonly id: string
  /** Parent span id from `traceparent`; empty if unknown. */
  readonly parent: string
  /** `<service>.<Handler>.<Method>` */
  readonly name: string
  /** Nanoseconds since 1970. */
  readonly started: bigint
  /** Nanoseconds. */
  readonly duration: bigint
  readonly metadata: Readonly<Record<string, string>>
  readonly type: SpanType
}

/** Number of recorded calls; must be a power of two. */
const MAX_SPANS = 256
const NS_PER_MS = 1e6
/** Longer metadata is not stored, because each of 256 calls could have 64 KiB. */
const MAX_CHARS = 4096
/** `traceparent` header (W3C Trace Context §3.2). */
const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/

interface Entry {
  name: string
  type: SpanType
  startedMs: number
  endedMs: number
  code: number
  callMetadata: string
}

/** The last 256 calls. Recording is cheap, because spans are computed on request. */
export class Traces {
  /** Tracer for exported spans of incoming and outgoing calls; undefined if none. */
  tracer: Tracer | undefined = undefined
  /** True to start a trace for calls without one. */
  begins = true
  readonly #prefix = randomBytes(4).toString('hex')
  readonly #entries: Entry[] = Array.from({ length: MAX_SPANS }, () => ({
    name: '',
    type: 'INBOUND',
    startedMs: 0,
    endedMs: 0,
    code: 0,
    callMetadata: '',
  }))
  #count = 0

  /**
   * Records a completed call.
   *
   * @param startedMs start as `performance.now()`, like `endedMs`.
   * @param code 200, or the status of the error.
   * @param callMetadata the metadata block of the call.
   */
  add(
    name: string,
    type: SpanType,
    startedMs: number,
    endedMs: number,
    code: number,
    callMetadata: string,
  ): void {
    const entry = this.#entries[this.#count++ & (MAX_SPANS - 1)]!
    entry.name = name
    entry.type = type
    entry.startedMs = startedMs
    entry.endedMs = endedMs
    entry.code = code
    entry.callMetadata = callMetadata.length > MAX_CHARS ? '' : callMetadata
  }

  /** Recorded calls, oldest first. @param trace trace id to filter by; empty for all. */
  list(trace = ''): Span[] {
    const spans: Span[] = []
    for (let i = Math.max(0, this.#count - MAX_SPANS); i < this.#count; i++) {
      const span = toSpan(this.#entries[i & (MAX_SPANS - 1)]!, this.#prefix, i)
      if (trace === '' || span.trace === trace) spans.push(span)
    }
    return spans
  }
}

function toSpan(entry: Entry, prefix: string, index: number): Span {
  const { name, type, startedMs, endedMs, code, callMetadata } = entry
  const parent = PARENT.exec(findMetadata(callMetadata, 'traceparent') ?? '')
  return {
    trace: parent?.[1] ?? findMetadata(callMetadata, 'x-request-id') ?? '',
    id: prefix + index.toString(16).padStart(8, '0'),
    parent: parent?.[2] ?? '',
    name,
    started: BigInt(Math.round(performance.timeOrigin + startedMs)) * BigInt(NS_PER_MS),
    duration: BigInt(Math.round((endedMs - startedMs) * NS_PER_MS)),
    metadata: { code: String(code) },
    type,
  }
}
