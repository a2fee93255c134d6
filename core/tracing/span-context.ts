import type { SpanContext } from '../contracts/tracer.ts'

/** `traceparent` of any version; only later versions have fields after the flags (W3C Trace Context §3.2.4). */
const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const SAMPLED = 1

/** A list member: key, `=`, value (§3.3.1.3). */
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
const MEMBERS_MAX = 32
/** Length that every participant must propagate (§3.3.1.5). */
const STATE_MAX_CHARS = 512
/** Members above this length are dropped first. */
const LONG_MEMBER_CHARS = 128

/**
 * Parses `traceparent` and `tracestate` (W3C Trace Context §3.2, §3.3). Returns undefined for a malformed
 * `traceparent`, in which case the `tracestate` is ignored as well.
 */
export function parseSpanContext(
  traceparent: string | undefined,
  tracestate = '',
): SpanContext | undefined {
  if (traceparent === undefined) return undefined
  const [, version, traceId, spanId, flags, more] = PARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined))
    return undefined
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  return {
    traceId: traceId!,
    spanId: spanId!,
    isSampled: (Number.parseInt(flags!, 16) & SAMPLED) !== 0,
    tracestate: tracestate === '' ? '' : parseTracestate(tracestate),
    isRemote: true,
  }
}

/** Formats a `traceparent` of version 00. */
export function formatTraceparent(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/**
 * Normalizes a `tracestate` for propagation: empty if it is malformed, repeats a key or has more than 32 members. Above
 * 512 characters, drops members over 128 characters, then the last ones (§3.3.1.5).
 */
export function parseTracestate(text: string): string {
  // Not parsed, because it is too long to be legitimate.
  if (text.length > 64 * STATE_MAX_CHARS) return ''
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  if (members.length > MEMBERS_MAX || !members.every((member) => MEMBER.test(member))) return ''
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  if (keys.size < members.length) return ''
  let remaining = members
  if (remaining.join(',').length > STATE_MAX_CHARS)
    remaining = remaining.filter(({ length }) => length <= LONG_MEMBER_CHARS)
  while (remaining.join(',').length > STATE_MAX_CHARS) remaining = remaining.slice(0, -1)
  return remaining.join(',')
}
