import type { Endpoint } from '../../core/contracts/registry.ts'

/** Streaming side; `unknown` for a stream of unspecified direction. */
export type EndpointKind = 'unary' | 'server' | 'client' | 'both' | 'unknown'

const KINDS: ReadonlySet<string> = new Set(['server', 'client', 'both'])

/** Metadata `stream` marks a stream; the optional `streams` names the side. */
export function toKind({ metadata }: Pick<Endpoint, 'metadata'>): EndpointKind {
  const { stream, streams = '' } = metadata
  if (stream !== 'true') return 'unary'
  return KINDS.has(streams) ? (streams as EndpointKind) : 'unknown'
}
