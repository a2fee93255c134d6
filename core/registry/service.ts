import type { Node, Service } from '../contracts/registry.ts'
import { parseHostPort } from '../upstream/node/parse-node.ts'
import { isServiceName } from './service-name.ts'

/** Prefix of endpoint metadata with plugin options as JSON, such as `policy.body-limit`. */
export const POLICY = 'policy.'
/** The default domain. */
export const DEFAULT_DOMAIN = 'mx'
const MAX_TEXT = 253
const PRINTABLE = /^[\x21-\x7e]+$/

/**
 * Returns the label of a service in metrics: its name, preceded by the domain unless it is the default (`acme/shop`).
 */
export function toServiceLabel(name: string, domain: string): string {
  return domain === DEFAULT_DOMAIN ? name : `${domain}/${name}`
}

/**
 * Validates a registration.
 *
 * @throws {TypeError} with the first invalid part and its valid form.
 */
export function checkService({ name, version, nodes }: Service): void {
  if (!isServiceName(name)) {
    throw new TypeError(
      `service name must be letters, digits and inner dots, dashes or underscores, got ${JSON.stringify(name)}`,
    )
  }
  checkText('version', version)
  for (const { id, address } of nodes) {
    checkText('node id', id)
    if (parseHostPort(address) === undefined) {
      throw new TypeError(
        `address of node ${id} must be host:port or [IPv6]:port, got ${JSON.stringify(address)}`,
      )
    }
  }
}

/** True if two states of a version are equal. The order of nodes and endpoints matters. */
export function isSameService(a: Service, b: Service): boolean {
  return (
    a.nodes.length === b.nodes.length &&
    a.nodes.every((node, i) => isSameNode(node, b.nodes[i]!)) &&
    isSameMap(a.metadata, b.metadata) &&
    JSON.stringify(a.endpoints) === JSON.stringify(b.endpoints)
  )
}

export function isSameNode(a: Node, b: Node): boolean {
  return a.id === b.id && a.address === b.address && isSameMap(a.metadata, b.metadata)
}

/** True if two string maps are equal, in any order. */
export function isSameMap(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  )
}

/** True for a valid version or node id: 1 to 253 visible ASCII characters. */
export function isEntryText(text: string): boolean {
  return text.length <= MAX_TEXT && PRINTABLE.test(text)
}

function checkText(subject: string, text: string): void {
  if (isEntryText(text)) return
  throw new TypeError(
    `${subject} must be 1 to ${MAX_TEXT} visible ASCII characters, got ${JSON.stringify(text.slice(0, MAX_TEXT))}`,
  )
}
