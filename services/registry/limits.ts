import type { Service, Value } from '../../core/contracts/registry.ts'
import { isNamespaceName, NAMESPACE_FORM } from '../../core/registry/namespace-name.ts'
import { isEntryText } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { parseHostPort, parseNode, RESOLVED } from '../../core/upstream/node/parse-node.ts'
import { badRequest } from '../../sdk/errors.ts'
import { OWNER } from './nodes/node-owner.ts'

/** Default TTL of a registration in seconds (specification: Limits). */
export const TTL_SECONDS = 90
/** Maximum TTL, so that an abandoned registration eventually expires. */
export const MAX_TTL_SECONDS = 86_400
/** Maximum number of endpoints of a version. */
export const MAX_ENDPOINTS = 1000
/** Maximum number of nodes of a registration. */
export const MAX_NODES = 100
/** Maximum total number of nodes of a version across all registrations. */
export const MAX_VERSION_NODES = 1000
/** Maximum size of a version as JSON, including its nodes. */
export const MAX_VERSION_BYTES: number = 1024 * 1024
/** Maximum size of all versions of a service in a domain as JSON, which is half of a response. */
export const MAX_SERVICE_BYTES: number = 8 * 1024 * 1024
/**
 * Number of JSON bytes that a namespace may register per node of its quota. One service of {@link
 * MAX_SERVICE_BYTES} is always allowed.
 */
export const QUOTA_NODE_BYTES: number = 8 * 1024
/** Maximum number of versions in a domain. */
export const MAX_VERSIONS = 100_000
/** Maximum page size. */
export const MAX_PAGE = 1000
/** Maximum length of a metadata value of services and nodes. */
export const MAX_METADATA_VALUE = 512
/** Maximum size of a registration as JSON. */
const MAX_ENTRY_BYTES = 256 * 1024
const MAX_METADATA_PAIRS = 64
const MAX_METADATA_KEY = 128
const MAX_VALUE_DEPTH = 16

/** Predicate for a field and its description for error messages. */
export type Demand<T> = readonly [holds: (value: T) => boolean, message: () => string]

const NAME = 'letters, digits and inner dots, dashes or underscores, at most 253'

export const SERVICE_NAME: Demand<string> = [isServiceName, () => `must be ${NAME}`]

export const SERVICE_NAME_OR_EMPTY: Demand<string> = [
  (text) => text === '' || isServiceName(text),
  () => `must be empty, or ${NAME}`,
]

export const DOMAIN: Demand<string> = [
  (text) => text === '' || text === '*' || isNamespaceName(text),
  () => `must be *, empty, or ${NAMESPACE_FORM}; at most 253 characters`,
]

export const TEXT: Demand<string> = [isEntryText, () => 'must be 1 to 253 visible ASCII characters']

export const TEXT_OR_EMPTY: Demand<string> = [
  (text) => text === '' || isEntryText(text),
  () => 'must be empty, or 1 to 253 visible ASCII characters',
]

export const ADDRESS: Demand<string> = [
  (text) => parseHostPort(text) !== undefined,
  () => 'must be host:port or [IPv6]:port',
]

/** Metadata keys reserved for the registry. */
const RESERVED_KEYS: ReadonlySet<string> = new Set(['domain', RESOLVED, OWNER])

export const METADATA: Demand<Readonly<Record<string, unknown>> | null> = [
  (metadata) => {
    if (metadata === null) return true
    // Set by the registry, so entries that were read from it contain these keys.
    const keys = Object.keys(metadata).filter((key) => !RESERVED_KEYS.has(key))
    return (
      keys.length <= MAX_METADATA_PAIRS &&
      keys.every((key) => key !== '' && key.length <= MAX_METADATA_KEY)
    )
  },
  () =>
    `must have at most ${MAX_METADATA_PAIRS} pairs, with keys of 1 to ${MAX_METADATA_KEY} characters`,
]

export const VALUE: Demand<Value> = [
  (value) => isWithin(value, MAX_VALUE_DEPTH),
  () => `must not nest deeper than ${MAX_VALUE_DEPTH} levels`,
]

/**
 * Checks that callers can reach the nodes of a registration.
 *
 * @param id id used in the error.
 * @throws {GatewayError} 400 if the list is empty, or with the first invalid node.
 */
export function checkNodes({ nodes }: Service, id: string): void {
  if (nodes.length === 0) throw badRequest(id, 'request.nodes must contain at least one node')
  for (const [i, node] of nodes.entries()) {
    const parsed = parseNode(node)
    if (typeof parsed === 'string') throw badRequest(id, `request.nodes[${i}].metadata: ${parsed}`)
  }
}

/**
 * Checks the size of a registration.
 *
 * @param id id used in the error.
 * @throws {GatewayError} 400 if it is too large.
 */
export function checkSize(service: Service, id: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(service))
  if (bytes > MAX_ENTRY_BYTES)
    throw badRequest(id, `request must be at most ${MAX_ENTRY_BYTES} bytes of JSON, got ${bytes}`)
}

function isWithin({ values }: Value, levels: number): boolean {
  return levels > 0 && values.every((value) => isWithin(value, levels - 1))
}
