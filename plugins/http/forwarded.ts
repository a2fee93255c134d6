import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { type ForwardedElement, parseForwarded } from '../../core/http/forwarded-header.ts'
import { createHeaderBlock, type HeaderBlock, type HeaderList } from '../../core/http/headers.ts'
import { ALLOWED_METHODS } from '../../core/http/methods.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { createCidrSet, type KnownAddress, parseIpAddress } from '../../lib/net/cidr-set.ts'

const options = Type.Object({
  trusted: Type.Array(Type.String(), {
    default: [],
    description:
      'Addresses of trusted proxies, such as 10.0.0.0/8, 2001:db8::/32, loopback, private or unix.',
  }),
  header: Type.Union([Type.Literal('x-forwarded-for'), Type.Literal('forwarded')], {
    default: 'x-forwarded-for',
    description: 'Header in which the trusted proxies send the client address.',
  }),
  optional: Type.Boolean({
    default: false,
    description:
      'Accept requests from trusted proxies without a valid address in that header; otherwise they fail with 400.',
  }),
  via: Type.String({
    default: 'mx',
    description: 'Name of this gateway in Via; empty disables Via and loop detection.',
  }),
  hops: Type.Integer({
    default: 10,
    minimum: 1,
    description:
      'Maximum number of times that a request may pass gateways with this name; then 508.',
  }),
  standard: Type.Boolean({
    default: true,
    description: 'Write Forwarded (RFC 7239) in addition to X-Forwarded-*.',
  }),
})

/** Headers that contain only the client address. Many proxies forward such headers unless they set them themselves. */
const CLIENT_ADDRESSES: readonly string[] = [
  'cf-connecting-ip',
  'fastly-client-ip',
  'true-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-real-ip',
]
/** Headers in which proxies describe the original request. They are deleted if the client is not trusted. */
const CLAIMS: ReadonlySet<string> = new Set([
  ...CLIENT_ADDRESSES,
  'forwarded',
  'x-original-host',
  'x-original-method',
  'x-original-url',
  'x-rewrite-url',
])
/** Prefixes of further claims. */
const CLAIM_PREFIXES: readonly string[] = ['x-forwarded', 'x-envoy-']

/** Forwarding headers of a client, with the facts they are based on. */
type ClientHeaders = Pick<Exchange, 'host' | 'secure' | 'httpVersion'> & {
  readonly block: HeaderBlock
}

/** Addresses written by trusted proxies. */
interface Trail {
  /** Hops, nearest first; the last one is the client. */
  readonly hops: readonly KnownAddress[]
  /** False if the last hop is a proxy whose client is unknown. */
  readonly isComplete: boolean
  /** Elements of `Forwarded`, starting with the client's; empty with `X-Forwarded-For`. */
  readonly elements: readonly ForwardedElement[]
}
const NO_TRAIL: Trail = { hops: [], isComplete: false, elements: [] }

/** Maximum number of cached clients, about 5 MB. */
const BLOCKS_MAX = 10_000

/** Interval between log lines about rejected requests. */
const LOG_INTERVAL_MS = 60_000

/** Maximum number of proxies between the gateway and the client. */
const WALK_MAX = 32

const REMEDY =
  'Configure the proxy to send it, set trusted_proxies_header to the header that the proxy sends, or set trusted_proxies_optional'

const VIA_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z:[\]]*$/i
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(?::\d{1,5})?$/i
const HAS_PORT = /:\d+$/
const PORT = /^\d{1,5}$/
const COUNT = /^\d{1,9}$/
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/i

/**
 * Adds the client address and the hop of this gateway to requests to backends (RFC 7239; RFC 9110 §7.6.3). Responds to
 * `OPTIONS` requests with `Max-Forwards: 0`.
 *
 * Headers about earlier hops are deleted unless the peer is a trusted proxy. In this case the client is the last
 * address, read from the right, that is not a trusted proxy, in the header that the proxies write. `Forwarded` and
 * `X-Forwarded-*` are both written from the family that the proxies write. The other family comes from the client and
 * is replaced.
 *
 * A request from a trusted proxy is rejected with 400 unless that header ends with an IP address: some parsers lose all
 * headers after a malformed one, and the proxy would count as the client.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'forwarded',
  description:
    'Writes X-Forwarded-*, Forwarded and Via; only accepts inbound ones from trusted proxies.',
  scopes: ['gateway'],
  options,
  create({ trusted, header, optional, via, hops, standard }, { log, nowMs }) {
    if (!VIA_NAME.test(via))
      throw new RangeError(`via must be a host name or a token, got ${JSON.stringify(via)}`)
    const proxies = createCidrSet(trusted, 'trusted')
    const viaValues = { '1.1': `1.1 ${via}`, '2': `2 ${via}` }
    const loop = new GatewayError(GATEWAY_ID, 508, `request loop: passed ${via} ${hops} times`)
    const unforwarded = new GatewayError(
      GATEWAY_ID,
      400,
      `The trusted proxy in front of this gateway sent no valid client address in the ${header} header. ${REMEDY}.`,
    )
    // Clients send many requests to the same host, so their header block is built once.
    const blocks = new Map<KnownAddress, ClientHeaders>()
    const findBlock = (peer: KnownAddress, x: Exchange): HeaderBlock => {
      const { host, secure, httpVersion } = x
      const before = blocks.get(peer)
      if (
        before !== undefined &&
        before.host === host &&
        before.secure === secure &&
        before.httpVersion === httpVersion
      )
        return before.block
      if (blocks.size >= BLOCKS_MAX) blocks.clear()
      const block = createHeaderBlock(describe(peer, x))
      blocks.set(peer, { host, secure, httpVersion, block })
      return block
    }
    const describe = (peer: KnownAddress, { host, secure, httpVersion }: Exchange): string[] => {
      const proto = toProto({ secure })
      const fields = via === '' ? [] : ['via', viaValues[httpVersion]]
      if (peer.address !== '') fields.push('x-forwarded-for', peer.address)
      fields.push('x-forwarded-proto', proto)
      if (host !== '') fields.push('x-forwarded-host', host)
      if (standard) fields.push('forwarded', formatForwarded(peer, host, proto))
      return fields
    }
    const forwardClaims = (x: Exchange, peer: KnownAddress, trail: Trail): void => {
      const { headers } = x
      if (trail.isComplete) x.relayed = false
      const client = trail.hops.at(-1)
      if (client !== undefined) x.clientAddress = client.address
      if (via !== '') headers.append('via', viaValues[x.httpVersion])
      const isStandard = header === 'forwarded'
      const addresses = isStandard
        ? trail.hops.map((hop) => hop.address).reverse()
        : headers.getAll(header).filter((value) => value !== '')
      if (peer.address !== '') addresses.push(peer.address)
      if (isStandard) dropClaims(x)
      else {
        headers.delete(header)
        headers.delete('forwarded')
        if (client !== undefined) dropOtherClients(headers, client.address)
      }
      if (addresses.length > 0) headers.append('x-forwarded-for', addresses.join(', '))
      const proto = (isStandard ? findProto(trail) : readProto(headers)) ?? toProto(x)
      headers.set('x-forwarded-proto', proto)
      const host = (isStandard ? findHost(trail) : undefined) ?? x.host
      if (host !== '' && !headers.has('x-forwarded-host')) headers.append('x-forwarded-host', host)
      if (standard) headers.append('forwarded', formatTrail(trail, peer, toPublicHost(x), proto))
    }
    let rejected = 0
    let loggedMs = Number.NEGATIVE_INFINITY
    const reject = (x: Exchange): void => {
      rejected++
      const now = nowMs()
      if (now - loggedMs >= LOG_INTERVAL_MS) {
        log.warn(
          { proxy: x.remoteAddress, requests: rejected },
          `rejected requests from a trusted proxy without a valid client address in ${header}. ${REMEDY}`,
        )
        loggedMs = now
        rejected = 0
      }
      // A parser that lost these headers may also have lost Content-Length, and would read the body as the next
      // request.
      x.failAndClose(unforwarded)
    }
    return {
      onRequest(x) {
        const peer = proxies.lookup(x.remoteAddress)
        const trail = peer.inside ? readTrail(x, header, proxies.lookup) : NO_TRAIL
        if (peer.inside && !optional && trail.hops.length === 0) return reject(x)
        if (x.method === 'OPTIONS' && isFinalRecipient(x))
          return x.reply(204, '', ['allow', ALLOWED_METHODS])
        const { flat } = x.headers
        let passes = 0
        let claims = false
        let chained = false
        for (let i = 0; i < flat.length; i += 2) {
          const name = flat[i]!
          const first = name.charCodeAt(0)
          // Claims start with c, f, t, v or x, so that one byte excludes most headers.
          if (first !== 120 && first !== 99 && first !== 102 && first !== 116 && first !== 118)
            continue
          // `content-type` and `cookie`: no claim starts with "co".
          if (first === 99 && name.charCodeAt(1) === 111) continue
          if (name === 'x-request-id') continue
          if (name === 'via') {
            chained = true
            passes += countPasses(flat[i + 1]!, via)
          } else if (!claims) claims = isClaim(name)
        }
        if (via !== '' && passes >= hops) return x.fail(loop)
        x.relayed = claims || chained
        if (claims && peer.inside) return forwardClaims(x, peer, trail)
        if (claims) dropClaims(x)
        const block = findBlock(peer, x)
        // A header block may be written first, but this gateway's Via must follow the Via headers of earlier proxies.
        if (chained) x.headers.appendAll(block)
        else x.headers.appendBlock(block)
      },
    }
  },
})

export default plugin

/** Decrements `Max-Forwards`. Returns true if the gateway is the final recipient (RFC 9110 §7.6.2). */
function isFinalRecipient({ headers }: Exchange): boolean {
  const maxForwards = headers.get('max-forwards')
  if (maxForwards === undefined || !COUNT.test(maxForwards)) return false
  if (Number(maxForwards) === 0) return true
  headers.set('max-forwards', String(Number(maxForwards) - 1))
  return false
}

function isClaim(name: string): boolean {
  return CLAIMS.has(name) || CLAIM_PREFIXES.some((prefix) => name.startsWith(prefix))
}

function dropClaims(x: Exchange): void {
  const names = x.headers.flat.filter((name, i) => i % 2 === 0 && isClaim(name))
  for (const name of names) x.headers.delete(name)
}

/** Deletes headers that contradict the client address sent by trusted proxies. */
function dropOtherClients(headers: HeaderList, client: string): void {
  for (const name of CLIENT_ADDRESSES) {
    const isClient = (value: string) => parseIpAddress(value)?.toString() === client
    if (!headers.getAll(name).every(isClient)) headers.delete(name)
  }
}

/**
 * Reads at most {@link WALK_MAX} addresses from the right. Everything left of the first untrusted address is
 * unverified.
 */
function readTrail(
  { headers }: Exchange,
  header: 'x-forwarded-for' | 'forwarded',
  lookUp: (address: string) => KnownAddress,
): Trail {
  const value = headers.getAll(header).join(', ')
  if (value === '') return NO_TRAIL
  const elements = header === 'forwarded' ? parseForwarded(value) : undefined
  const chain =
    header === 'forwarded'
      ? (elements?.map((element) => element.get('for') ?? '') ?? [])
      : value.split(',')
  const hops: KnownAddress[] = []
  for (let i = chain.length - 1; i >= 0 && hops.length < WALK_MAX; i--) {
    const address = parseIpAddress(chain[i]!)?.toString()
    if (address === undefined) break
    const hop = lookUp(address)
    hops.push(hop)
    if (i === 0 || !hop.inside)
      return { hops, isComplete: true, elements: elements?.slice(i) ?? [] }
  }
  const isEmpty = hops.length === 0
  return { hops, isComplete: false, elements: isEmpty ? [] : (elements?.slice(-hops.length) ?? []) }
}

/** Returns the scheme of the connection. */
function toProto({ secure }: Pick<Exchange, 'secure'>): 'http' | 'https' {
  return secure ? 'https' : 'http'
}

/** Returns the value of a parameter from the element that contains it and is nearest to the client. */
function findParameter({ elements }: Trail, name: string): string | undefined {
  return elements.find((element) => element.has(name))?.get(name)
}

function findProto(trail: Trail): string | undefined {
  const proto = findParameter(trail, 'proto')?.toLowerCase()
  return proto === 'http' || proto === 'https' ? proto : undefined
}

function findHost(trail: Trail): string | undefined {
  const host = findParameter(trail, 'host')
  return host !== undefined && HOST.test(host) ? host : undefined
}

/** Returns the scheme set by a proxy, or undefined unless it is a single `http` or `https`. */
function readProto(headers: HeaderList): string | undefined {
  const proto = headers.getAll('x-forwarded-proto').join()
  return proto === 'http' || proto === 'https' ? proto : undefined
}

/**
 * Returns the host from `X-Forwarded-*` with the port from `X-Forwarded-Port`; empty for a list or an invalid host,
 * because backends differ in the element they use.
 */
function toPublicHost({ headers }: Exchange): string {
  const values = headers.getAll('x-forwarded-host')
  const host = values[0] ?? ''
  if (values.length !== 1 || !HOST.test(host)) return ''
  const port = headers.getAll('x-forwarded-port').join()
  if (!PORT.test(port) || HAS_PORT.test(host)) return host
  const isDefault = port === (headers.get('x-forwarded-proto') === 'https' ? '443' : '80')
  return isDefault ? host : `${host}:${port}`
}

/** Counts the occurrences of `name` in a Via value such as `1.1 mx, 1.0 other (comment)`. */
function countPasses(value: string, name: string): number {
  let passes = 0
  for (const hop of value.split(',')) if (hop.trim().split(/[ \t]+/, 2)[1] === name) passes++
  return passes
}

/** Formats an element of `Forwarded` (RFC 7239 §4). */
function formatForwarded(peer: KnownAddress, host: string, proto: string): string {
  return `for=${peer.node}${host === '' ? '' : `;host=${quote(host)}`};proto=${proto}`
}

/**
 * Formats `Forwarded` with the verified addresses and the peer. Only the first element has `host` and `proto`: some
 * parsers use the first value in the header, others the last, and both must agree with `X-Forwarded-*`.
 */
function formatTrail({ hops }: Trail, peer: KnownAddress, host: string, proto: string): string {
  const [client, ...rest] = [...hops.toReversed(), peer]
  return [formatForwarded(client!, host, proto), ...rest.map(({ node }) => `for=${node}`)].join(
    ', ',
  )
}

/** Quotes a `Forwarded` value unless it is a token (RFC 7239 §4, RFC 9110 §5.6.4). */
function quote(value: string): string {
  return TOKEN.test(value) ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`
}
