import { HOPS } from '../../core/rpc/hops.ts'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import type { Context } from '../context.ts'

/** What a call tells of itself besides its request. */
export interface CallDetails {
  /** The call that is being served, of which this one is a part: its metadata travel on. */
  readonly context?: Context
  /** Sent as `Mx-Namespace`; empty: none. @default the context's, then the client's */
  readonly namespace?: string
  /** By name; in place of the context's of the same name. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Names that belong to the platform. */
const PLATFORM = 'mx-'
const NAMESPACE = 'mx-namespace'
const REQUEST_ID = 'x-request-id'
const CONTENT_TYPE = 'content-type'

/**
 * What was said about one request and its answer only: how its body is written, which answer its sender takes, how long
 * it waits, which way it came. It holds for no other call (RFC 9110 §8, §12.5, §13, §14; the time that is left is sent by
 * the protocol).
 */
const OF_ONE_REQUEST: ReadonlySet<string> = new Set([
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

/** Blocks of contexts that were asked for as they are. */
const blocks = new WeakMap<Context, string>()

/**
 * The metadata block of a call.
 *
 * Of a context everything travels on but what is about its own request and answer: whoever is called learns the request
 * id, the namespace, and who calls (`mx-account`, reference 9), and what one service learnt of the gateway the
 * next one knows, too.
 *
 * @throws {TypeError} for a name that is no token, `content-type` or the platform's (`mx-*`), or a value that cannot be sent.
 */
export function formatCallMetadata(details: CallDetails, clientNamespace: string): string {
  const { context, namespace, metadata } = details
  const inherits = context !== undefined && context.namespace !== ''
  const chosen = namespace ?? (inherits ? undefined : clientNamespace)
  if (metadata === undefined && namespace === undefined && !chosen)
    return context === undefined ? '' : formatContext(context)
  const own = new Map<string, string>()
  for (const [name, value] of Object.entries(metadata ?? {})) {
    const lower = name.toLowerCase()
    if (lower.startsWith(PLATFORM) || lower === CONTENT_TYPE)
      throw new TypeError(`metadata ${lower} is not the caller's to set`)
    own.set(lower, value)
  }
  if (chosen !== undefined) own.set(NAMESPACE, chosen)
  const inherited = context === undefined ? [] : toInherited(context)
  const fields: string[] = []
  for (let i = 0; i < inherited.length; i += 2)
    if (!own.has(inherited[i]!)) fields.push(inherited[i]!, inherited[i + 1]!)
  for (const [name, value] of own) if (value !== '') fields.push(name, value)
  return formatMetadata(fields)
}

/** Worked out once: a handler often makes several calls. */
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
    if (OF_ONE_REQUEST.has(name)) continue
    hasId ||= name === REQUEST_ID
    inherited.push(name, fields[i + 1]!)
  }
  // The one this context has made up, so that the logs of both services tell of the same request.
  if (!hasId) inherited.push(REQUEST_ID, context.id)
  return inherited
}
