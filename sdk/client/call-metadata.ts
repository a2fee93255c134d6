import { HOPS } from '../../core/rpc/hops.ts'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import type { Context } from '../context.ts'

/** Metadata options of a call. */
export interface CallDetails {
  /** Context of the call being served; its metadata is passed on. */
  readonly context?: Context
  /** Namespace, sent as `Mx-Namespace`; empty for none. @default the context's, then the client's */
  readonly namespace?: string
  /** Metadata by name; takes precedence over the context. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Prefix of reserved names. */
const PLATFORM = 'mx-'
const NAMESPACE = 'mx-namespace'
const REQUEST_ID = 'x-request-id'
const CONTENT_TYPE = 'content-type'

/**
 * Headers of a single request that are not passed on: content and negotiation, conditions and ranges, connection (RFC
 * 9110 §8, §12.5, §13, §14). The protocol sends the remaining time.
 */
const REQUEST_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'content-encoding',
  'content-length',
  CONTENT_TYPE,
  'expect',
  'grpc-timeout',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  HOPS,
  'range',
  'timeout',
])

/** Cache of formatted contexts. */
const blocks = new WeakMap<Context, string>()

/**
 * Formats the metadata block of a call. The metadata of the context is passed on, except headers of its own request, so
 * that all services involved share the request id, the namespace and the caller (`mx-account`, reference 9).
 *
 * @throws {TypeError} for a name that is not a token, `content-type`, a reserved name (`mx-*`), or an invalid value.
 */
export function formatCallMetadata(details: CallDetails, clientNamespace: string): string {
  const { context, namespace, metadata } = details
  const inherits = context !== undefined && context.namespace !== ''
  const effectiveNamespace = namespace ?? (inherits ? undefined : clientNamespace)
  if (metadata === undefined && namespace === undefined && !effectiveNamespace)
    return context === undefined ? '' : formatContext(context)
  const merged = new Map<string, string>()
  for (const [name, value] of Object.entries(metadata ?? {})) {
    const lower = name.toLowerCase()
    if (lower.startsWith(PLATFORM) || lower === CONTENT_TYPE)
      throw new TypeError(`metadata ${lower} is reserved and cannot be set`)
    merged.set(lower, value)
  }
  if (effectiveNamespace !== undefined) merged.set(NAMESPACE, effectiveNamespace)
  const inherited = context === undefined ? [] : toInherited(context)
  const fields: string[] = []
  for (let i = 0; i < inherited.length; i += 2)
    if (!merged.has(inherited[i]!)) fields.push(inherited[i]!, inherited[i + 1]!)
  for (const [name, value] of merged) if (value !== '') fields.push(name, value)
  return formatMetadata(fields)
}

/** Cached, because a handler often makes several calls. */
function formatContext(context: Context): string {
  let block = blocks.get(context)
  if (block === undefined) {
    block = formatMetadata(toInherited(context))
    blocks.set(context, block)
  }
  return block
}

function toInherited(context: Context): string[] {
  const { fields } = context
  const inherited: string[] = []
  let hasId = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (REQUEST_HEADERS.has(name)) continue
    hasId ||= name === REQUEST_ID
    inherited.push(name, fields[i + 1]!)
  }
  // Includes the generated request id of this context, so that the logs of both services share it.
  if (!hasId) inherited.push(REQUEST_ID, context.id)
  return inherited
}
