import type { Handler } from '../core/chain.ts'
import { forward } from '../core/upstream/forward.ts'

/**
 * HTTP reverse proxy that forwards requests with their full path to a node of the service (specification: `proxy`
 * handler).
 */
export default function proxy(): Handler {
  return { name: 'proxy', handle: forward }
}
