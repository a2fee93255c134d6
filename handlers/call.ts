import { LRUCache } from 'lru-cache'
import { isOperator } from '../core/auth/policy/account-rights.ts'
import type { Handler, Step } from '../core/chain.ts'
import type { Node } from '../core/contracts/registry.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { toHostName } from '../core/http/host/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { decodeBody, hasEncodedBody } from '../core/request/decode-body.ts'
import type { ExplicitTarget } from '../core/request/explicit-target.ts'
import { parseFormPairs } from '../core/request/form.ts'
import { parseJson } from '../core/request/json/json.ts'
import { skipBlanks, splitObject } from '../core/request/json/json-text.ts'
import { type RequestType, toRequestType } from '../core/request/media-type.ts'
import { parseMultipart } from '../core/request/multipart.ts'
import { decodeUtf8 } from '../core/request/utf8.ts'
import { joinName, toRoute } from '../core/route.ts'
import type { TransportFailure } from '../core/rpc/call.ts'
import { formatContext, JSON_REPLY } from '../core/rpc/context-headers.ts'
import { BODY_MAX_BYTES, type CallLimits, GatewayCall } from '../core/rpc/gateway-call.ts'
import { parseHostPort } from '../core/upstream/node/parse-node.ts'
import type { UpstreamNode } from '../core/upstream/node/upstream-node.ts'
import type { Upstream } from '../core/upstream/upstream.ts'
import { createCidrSet } from '../lib/net/cidr-set.ts'
import { suggest } from '../lib/text/did-you-mean.ts'

export interface CallOptions extends CallLimits {
  /** Finds a service by name. Returns undefined if it is not registered. */
  readonly find: (
    service: string,
    x: Exchange,
  ) => Upstream | undefined | Promise<Upstream | undefined>
  /** Opens an unregistered node as the only node of its service. */
  readonly open: (service: string, node: Node) => Upstream
  /** Whether unregistered nodes are allowed at an IP address. */
  readonly isAllowed: (address: string) => boolean
}

/** A handler with a separate route step, because the request body names the target. */
export interface CallHandler extends Handler {
  readonly route: Step
}

/** Request to `/rpc`. */
interface Call {
  readonly service: string
  readonly endpoint: string
  readonly address: string
  /** JSON; undefined if missing. */
  readonly request: string | undefined
}

const ID = 'go.mx.rpc'
const PATH = '/rpc'
const NAMES: ReadonlySet<string> = new Set(['service', 'method', 'endpoint', 'request', 'address'])
const LONGEST_NAME = 8
const ACCEPTED = 'application/json, application/x-www-form-urlencoded, multipart/form-data'
const ENDPOINT = /^[A-Za-z]\w{0,199}\.[A-Za-z]\w{0,199}$/
/** Scheme of an address. Unregistered nodes require `mx` or `mxs`. */
const SCHEME = /^(mxs?|https?):\/\//
/** Message for all connection failures, so that callers cannot probe ports. */
const UNREACHABLE = 'no service speaks the call protocol at this address'
/** Local addresses, whose programs may trust local clients. */
const LOCAL_MACHINE = createCidrSet(['loopback', 'unix'], 'own machine')
/** Maximum number of open unregistered nodes. */
const OPEN_MAX = 64

/** Whether a request is an explicit call. */
export function isCall(x: Exchange): boolean {
  return x.path === PATH
}

/**
 * Handles explicit calls (specification: `/rpc`), with service, method and request in a form or a JSON document. The
 * service name is not prefixed with the namespace.
 *
 * `address` selects a node of the service: a registered one, or one within the allowed ranges (reference 15.3).
 * Addresses of the gateway machine are only allowed for requests from that machine.
 */
export default function call(options: CallOptions): CallHandler {
  const opened = new LRUCache<string, Upstream>({
    max: OPEN_MAX,
    dispose: (upstream) => upstream.close(),
  })

  /** Returns why an address is denied; empty if it is allowed. */
  function authorizeDestination(ip: string, x: Exchange): string {
    // Host names are not resolved, since their addresses may change between the check and the connection (DNS
    // rebinding).
    if (!options.isAllowed(ip)) return ' and not allowed by rpc_address_allow'
    if (!LOCAL_MACHINE.lookup(ip).inside || isLocalRequest(x)) return ''
    return '; addresses of the gateway machine are only allowed for requests from that machine to localhost'
  }

  function openAt(service: string, address: string, x: Exchange): Upstream {
    const protocol = SCHEME.exec(address)?.[1] ?? 'mx'
    const isCallable = protocol === 'mx' || protocol === 'mxs'
    const { host, port } = parseHostPort(stripScheme(address)) ?? { host: '', port: 0 }
    const ip = host === 'localhost' ? '127.0.0.1' : host
    const denied = authorizeDestination(isCallable ? ip : '', x)
    if (denied !== '') {
      const quoted = JSON.stringify(address.slice(0, 100))
      throw new GatewayError(ID, 403, `address ${quoted} is not a node of ${service}${denied}`)
    }
    const key = `${service} ${address}`
    let upstream = opened.get(key)
    if (upstream === undefined) {
      const node = {
        id: address,
        address: `${ip.includes(':') ? `[${ip}]` : ip}:${port}`,
        metadata: { protocol },
      }
      upstream = options.open(service, node)
      opened.set(key, upstream)
    }
    return upstream
  }

  async function route(x: Exchange): Promise<void> {
    if (x.method === 'OPTIONS') return x.reply(204, '', ['allow', 'POST, OPTIONS'])
    if (x.method !== 'POST') {
      const headers = ['allow', 'POST, OPTIONS']
      throw new GatewayError(ID, 405, `method ${x.method} not allowed for /rpc; expected POST`, {
        headers,
      })
    }
    if (hasEncodedBody(x)) await decodeBody(x, BODY_MAX_BYTES, ID)
    const { service, endpoint, address, request } = readCall(
      await x.readBody(BODY_MAX_BYTES),
      x.headers.get('content-type'),
    )
    const found = await options.find(service, x)
    const node =
      address === ''
        ? undefined
        : found?.nodes.find(
            (known) => known.id === address || toAddress(known) === stripScheme(address),
          )
    const isUnlisted = address !== '' && node === undefined
    const upstream = isUnlisted ? openAt(service, address, x) : found
    if (upstream === undefined) throw notFound(service, x.namespace)
    x.route = toRoute(service, endpoint, 'call')
    x.upstream = upstream
    x.explicitTarget = { request, node, isUnlisted }
  }

  return {
    name: 'call',
    route,
    handle: (x) => new ExplicitCall(x, options, x.explicitTarget!).send(),
    close: () => opened.clear(),
  }
}

class ExplicitCall extends GatewayCall {
  readonly #node: UpstreamNode | undefined
  readonly #isUnlisted: boolean

  constructor(x: Exchange, limits: CallLimits, { request, node, isUnlisted }: ExplicitTarget) {
    super(x, limits)
    // Checked after service and endpoint were found, because their errors take precedence.
    if (request === undefined) throw toBadRequest('request must be a JSON object', 'none')
    this.body = request
    this.#node = node
    this.#isUnlisted = isUnlisted
  }

  send(): void {
    this.begin()
  }

  protected begin(): void {
    this.x.headers.set('content-type', 'application/json')
    this.metadata = formatContext(this.x)
    this.dispatch()
  }

  protected override pick(): UpstreamNode | undefined {
    if (this.#node === undefined) return super.pick()
    return this.attempts === 0 ? this.#node : undefined
  }

  /** A call to a selected node is not sent to another one. */
  protected override isRepeatable(): boolean {
    return this.#node === undefined && super.isRepeatable()
  }

  override onLost(kind: TransportFailure, detail: string): void {
    const { account } = this.x
    const isUnreachable = kind === 'connect' || kind === 'foreign'
    if (!this.#isUnlisted || !isUnreachable || (account !== undefined && isOperator(account)))
      return super.onLost(kind, detail)
    // Same error for a closed port and another protocol, so that callers cannot probe ports.
    super.onLost('connect', UNREACHABLE)
  }

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    const headers = this.toHeaders(metadata, JSON_REPLY)
    if (headers !== undefined) this.x.send(200, headers, body.length === 0 ? '{}' : body)
  }
}

/**
 * Whether a request comes from this machine. Requests through a local proxy also have a local address, but contain a
 * forwarding header or the `Host` of the client.
 */
function isLocalRequest({ clientAddress, host, relayed }: Exchange): boolean {
  if (relayed || !LOCAL_MACHINE.lookup(clientAddress).inside) return false
  const name = toHostName(host)
  return name === 'localhost' || name.endsWith('.localhost') || LOCAL_MACHINE.lookup(name).inside
}

/** @throws {GatewayError} 400 or 415 */
function readCall(body: Uint8Array, contentType: string | undefined): Call {
  const fields = readFields(body, toRequestType(contentType, ID))
  const service = fields.get('service') ?? ''
  if (!isServiceName(service)) throw toBadRequest('service must be a full service name', service)
  const endpoint = fields.get('method') ?? fields.get('endpoint') ?? ''
  if (!ENDPOINT.test(endpoint)) throw toBadRequest('method must be <Handler>.<Method>', endpoint)
  const address = fields.get('address') ?? ''
  return { service, endpoint, address, request: fields.get('request') }
}

/** Returns the values of known fields by lower-case name; `request` is JSON. */
function readFields(body: Uint8Array, { kind, boundary }: RequestType): Map<string, string> {
  const fields = new Map<string, string>()
  switch (kind) {
    case 'json':
      for (const [name, json] of readMembers(body)) {
        const isText = json.startsWith('"') || name.toLowerCase() === 'request'
        if (json !== 'null') addField(fields, name, isText ? toText(json) : undefined)
      }
      return fields
    case 'form': {
      const pairs = parseFormPairs(body, ID)
      for (let i = 0; i < pairs.length; i += 2) addField(fields, pairs[i]!, pairs[i + 1])
      return fields
    }
    case 'multipart':
      for (const [name, value] of Object.entries(parseMultipart(body, boundary, ID)))
        addField(fields, name, value)
      return fields
    default:
      throw new GatewayError(ID, 415, `content type must be one of ${ACCEPTED}`, {
        headers: ['accept', ACCEPTED],
      })
  }
}

function readMembers(body: Uint8Array): Map<string, string> {
  const text = decodeUtf8(body, 'request body', ID)
  parseJson(text, 'request body', ID)
  const members = splitObject(text)
  if (members === undefined) throw toBadRequest('request body must be a JSON object', text)
  return members
}

/** Decodes a JSON string. Other JSON is returned unchanged. */
function toText(json: string): string {
  return json.startsWith('"') ? JSON.parse(json) : json
}

/**
 * @throws {GatewayError} 400 if a field is misspelled, duplicate or not a string, or the request is not a JSON object.
 */
function addField(fields: Map<string, string>, name: string, text: unknown): void {
  const key = name.toLowerCase()
  if (!NAMES.has(key)) return rejectMisspelled(name)
  if (text === '') return
  if (typeof text !== 'string') throw toBadRequest(`${key} must be a string`, 'another value')
  if (fields.has(key)) throw toBadRequest(`${key} must be set once`, text)
  if (key === 'request') {
    parseJson(text, 'request', ID)
    if (text[skipBlanks(text, 0)] !== '{') throw toBadRequest('request must be a JSON object', text)
  }
  fields.set(key, text)
}

/** Rejects misspelled fields, which would be silently ignored. Other unknown fields are allowed. */
function rejectMisspelled(name: string): void {
  const suggestion = name.length > 2 * LONGEST_NAME ? undefined : suggest(name, NAMES)
  if (suggestion === undefined) return
  throw new GatewayError(
    ID,
    400,
    `unknown field ${JSON.stringify(name)}, did you mean ${suggestion}?`,
  )
}

function notFound(service: string, namespace: string): GatewayError {
  const detail = `service not found: ${service}`
  if (service.includes('.') || namespace === '') return new GatewayError(service, 404, detail)
  const hint = `/rpc requires the full name, such as ${joinName(namespace, service)}`
  return new GatewayError(service, 404, `${detail}; ${hint}`)
}

/** Removes the scheme. */
function stripScheme(address: string): string {
  return address.replace(SCHEME, '')
}

function toAddress({ host, port }: { host: string; port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function toBadRequest(expected: string, got: string): GatewayError {
  return new GatewayError(ID, 400, `${expected}, got ${JSON.stringify(got.slice(0, 100))}`)
}
