import type { Endpoint } from '../../core/contracts/registry.ts'

/** Who sends more than one message; `unknown`: somebody does. */
export type EndpointKind = 'unary' | 'server' | 'client' | 'both' | 'unknown'

const KINDS: ReadonlySet<string> = new Set(['server', 'client', 'both'])

/** Services say `stream`, those that can tell who streams say `streams`, too. */
export function toKind({ metadata }: Pick<Endpoint, 'metadata'>): EndpointKind {
  const { stream, streams = '' } = metadata
  if (stream !== 'true') return 'unary'
  return KINDS.has(streams) ? (streams as EndpointKind) : 'unknown'
}
