import { createHash } from 'node:crypto'
import type { Node, Service } from '../../../core/contracts/registry.ts'
import { parseAddress } from '../../../core/upstream/parse-node.ts'
import {
  DEFAULT_DOMAIN,
  DEFAULT_VERSION,
  formatEndpoint,
  formatTag,
  MARKER,
  MAX_TAG,
  REVISION,
} from './tags.ts'

/** A node as Consul is told of it. */
export interface Registration {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly port: number
  readonly tags: string[]
  readonly meta: Record<string, string>
  readonly weight: number
  /** Seconds; 0: no check, it counts as passing until it is deregistered. */
  readonly ttlSeconds: number
  /** Whether it is to get no new requests: in maintenance. */
  readonly draining: boolean
}

/** What Consul's paths carry unchanged, in every version. */
const ID = /^[A-Za-z0-9._~:@[\]-]+$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Consul's limits of Meta: pairs, key, value. */
const MAX_META = 64
const META_KEY = /^[A-Za-z0-9_-]{1,128}$/
const MAX_META_VALUE = 512
/** `mx-version`, `mx-domain`. */
const OWN_META = 2
const MAX_BYTES = 262_144
const MAX_WEIGHT = 1000
/** Characters of a revision: 72 bits. */
const REVISION_LENGTH = 12

/**
 * @param ttlSeconds 0: it does not expire.
 * @throws {TypeError} when Consul could not keep it.
 */
export function toRegistration(
  { name, version, metadata, endpoints }: Service,
  node: Node,
  domain: string,
  ttlSeconds: number,
): Registration {
  const { host, port } = parseAddress(node.address)!
  const { state, ...own } = node.metadata
  const draining = state === 'draining'
  const kept: Record<string, string> = state === undefined || draining ? own : { ...own, state }
  const fitting = Object.entries(kept)
    .filter(([key, value]) => isMetaKey(key) && Buffer.byteLength(value) <= MAX_META_VALUE)
    .slice(0, MAX_META - OWN_META)
  const inMeta = new Set(fitting.map(([key]) => key))
  const rest = Object.entries(kept).filter(([key]) => !inMeta.has(key))
  const ofVersion = version === DEFAULT_VERSION ? {} : { version }
  const tags = [
    MARKER,
    ...(domain === DEFAULT_DOMAIN ? [] : [`mx.domain=${domain}`]),
    formatTag('version', domain, version),
    ...endpoints.map((endpoint) =>
      formatTag('endpoint', domain, formatEndpoint(version, endpoint)),
    ),
    ...(Object.keys(metadata).length === 0
      ? []
      : [formatTag('metadata', domain, JSON.stringify({ ...ofVersion, values: metadata }))]),
    ...(rest.length === 0
      ? []
      : [formatTag('node', domain, JSON.stringify(Object.fromEntries(rest)))]),
  ]
  const described = {
    id: toConsulId(name, node.id),
    name,
    address: host,
    port,
    meta: { ...Object.fromEntries(fitting), 'mx-version': version, 'mx-domain': domain },
    weight: toWeight(own['weight']),
  }
  const registration: Registration = {
    ...described,
    tags: [...tags, formatTag(REVISION, domain, toRevision(described))],
    ttlSeconds: Math.ceil(ttlSeconds),
    draining,
  }
  const bytes = Buffer.byteLength(JSON.stringify(registration))
  if (bytes > MAX_BYTES) {
    throw new TypeError(
      `service ${name} must fit into ${MAX_BYTES} bytes with its endpoints and metadata, got ${bytes}`,
    )
  }
  const long = tags.find((tag) => tag.length > MAX_TAG)
  if (long !== undefined) {
    throw new TypeError(
      `service ${name} must be described in tags of at most ${MAX_TAG} characters where Consul is the registry, got ${long.length}: ${long.slice(0, 80)}`,
    )
  }
  return registration
}

/**
 * The service id in Consul, unique on its agent: the node's id where it is the service's name and a UUID, as ids that services make
 * for themselves are, else with the name and a colon before it: no other service then has it, whatever the two are called.
 *
 * @throws {TypeError} when Consul could not be asked about it.
 */
export function toConsulId(name: string, id: string): string {
  if (!ID.test(id)) {
    throw new TypeError(
      `node id must be letters, digits and . _ ~ : @ [ ] - where Consul is the registry, got ${JSON.stringify(id)}`,
    )
  }
  return id.startsWith(`${name}-`) && UUID.test(id.slice(name.length + 1)) ? id : `${name}:${id}`
}

function toRevision(described: object): string {
  const digest = createHash('sha256').update(JSON.stringify(described)).digest('base64url')
  return digest.slice(0, REVISION_LENGTH)
}

function isMetaKey(key: string): boolean {
  return META_KEY.test(key) && !key.startsWith('mx-')
}

function toWeight(text: string | undefined): number {
  const weight = Number(text)
  return Number.isInteger(weight) && weight >= 1 && weight <= MAX_WEIGHT ? weight : 1
}
