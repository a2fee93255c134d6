import type { Handler } from '../core/chain.ts'
import { forward } from '../core/upstream/forward.ts'

/** HTTP reverse proxy: any request goes to a node of its service with its whole path (specification: handler `proxy`). */
export default function proxy(): Handler {
  return { name: 'proxy', handle: forward }
}
