import type { Endpoint } from '../../core/contracts/registry.ts'

/** Streaming mode; `unknown` for a stream of unspecified direction. */
export type EndpointKind = 'unary' | 'server' | 'client' | 'both' | 'unknown'

const KINDS: ReadonlySet<string> = new Set(['server', 'client', 'both'])

/** Kind of an endpoint. The metadata `stream` marks a stream, and the optional `streams` contains the side. */
export function toKind({ metadata }: Pick<Endpoint, 'metadata'>): EndpointKind {
  const { stream, streams = '' } = metadata
  if (stream !== 'true') return 'unary'
  return KINDS.has(streams) ? (streams as EndpointKind) : 'unknown'
}
