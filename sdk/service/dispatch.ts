import { CallGuard } from '../../core/auth/call-authorization.ts'
import { usesCallerAddress, withCaller } from '../../core/auth/identity-headers.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { isMetadata, MALFORMED_METADATA } from '../../core/rpc/metadata.ts'
import { mustBeAdmin } from '../auth/account-checks.ts'
import { CLIENT_CLOSED_REQUEST } from '../client/client-closed-request.ts'
import type { Context } from '../context.ts'
import { createServiceLog, type ServiceLog } from '../log/service-log.ts'
import { Traces } from '../tracing/traces.ts'
import { createDebugEndpoints } from './debug.ts'
import { type Endpoints, toEndpointName } from './endpoint.ts'
import { type CallTracker, type ServableCall, ServedCall } from './served-call.ts'
import { ServedEndpoint } from './served-endpoint.ts'

/** Built-in handler of every service. */
const DEBUG = 'Debug'
/** Public, because health probes have no tokens. */
const HEALTH = 'Debug.Health'

/** Endpoints by handler and method. */
export type Handlers = Readonly<Record<string, Endpoints>>

export interface DispatcherOptions {
  /** Full name of the service, used as the id of its errors. */
  readonly service: string
  /** Endpoints by handler and method: `{ Helloworld: { call } }`. Add more with {@link Dispatcher.handle}. */
  readonly handlers?: Handlers
  /** @default JSON lines on standard error */
  readonly log?: ServiceLog
  /** Authorizes calls from outside this process. @default every call is allowed, with the identity in its metadata */
  readonly authorizer?: Authorizer | undefined
}

/**
 * Serves the calls of a service over any transport, under its name and under longer names that end in `.<name>` with
 * the caller's namespace as prefix.
 */
export interface Dispatcher {
  readonly service: string
  /**
   * Adds the endpoints of a handler.
   *
   * @throws {TypeError} for an invalid name or schema, a duplicate endpoint, or the handler `Debug`.
   */
  readonly handle: (handler: string, endpoints: Endpoints) => void
  /**
   * Authorizes and serves a call from outside (the `Dispatch` of a transport). Never throws.
   *
   * @param address IP address of the caller. @default unknown
   */
  readonly dispatch: (call: IncomingCall, address?: string) => void
  /** Serves a call within this process that is already authorized. Never throws. */
  readonly dispatchTrusted: (call: IncomingCall) => void
  /** Like {@link dispatchTrusted}, with values as bodies. */
  readonly dispatchLocal: (call: ServableCall & { readonly endpoint: string }) => void
  /** Endpoints for the registry, except endpoints of `Debug`. */
  readonly describe: () => Endpoint[]
  /** Number of calls in flight. */
  readonly active: number
  /** Resolves when no call is in flight. */
  readonly idle: () => Promise<void>
  /**
   * Sets {@link DispatcherOptions.authorizer}. Must run before the first call.
   *
   * @param domain domain of the service.
   */
  readonly guard: (authorizer: Authorizer, domain: string) => void
  /** Stops watching the authorizer. Calls are still served. */
  readonly close: () => void
  readonly log: ServiceLog
  /** The last calls of the service and its client, for `Debug.Trace`. */
  readonly traces: Traces
}

/**
 * Creates the dispatcher of a service.
 *
 * @throws {TypeError} like {@link Dispatcher.handle}.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { service, handlers = {}, log = createServiceLog({ service }) } = options
  let guard = options.authorizer === undefined ? undefined : new CallGuard(options.authorizer)
  let domain = DEFAULT_DOMAIN
  const traces = new Traces()
  let requests = 0
  let errors = 0
  let active = 0
  let onIdle: (() => void)[] = []
  const table = new Map<string, ServedEndpoint>()
  const served: ServedEndpoint[] = []
  const add = (handler: string, endpoints: Endpoints): ServedEndpoint[] => {
    const added = new Map<string, ServedEndpoint>()
    for (const [method, definition] of Object.entries(endpoints)) {
      const name = toEndpointName(handler, method)
      if (table.has(name) || added.has(name))
        throw new TypeError(`endpoint ${name} is declared twice`)
      added.set(name, new ServedEndpoint(service, name, definition))
    }
    for (const [name, endpoint] of added) table.set(name, endpoint)
    return [...added.values()]
  }
  const handle = (handler: string, endpoints: Endpoints): void => {
    if (handler.toLowerCase() === DEBUG.toLowerCase())
      throw new TypeError(`the handler ${handler} is reserved`)
    served.push(...add(handler, endpoints))
  }
  for (const [handler, endpoints] of Object.entries(handlers)) handle(handler, endpoints)
  const check = (ctx: Context): void => {
    if (guard !== undefined) mustBeAdmin(ctx, domain, `${service}.${ctx.endpoint}`)
  }
  add(DEBUG, createDebugEndpoints({ log, traces, counts: () => ({ requests, errors }), check }))

  const memory: CallTracker = {
    log,
    traces,
    onSettled(call, code) {
      active--
      if (code !== 200 && code !== CLIENT_CLOSED_REQUEST) errors++
      traces.add(call.fullName, 'INBOUND', call.startedMs, performance.now(), code, call.metadata)
      if (active > 0 || onIdle.length === 0) return
      const waiting = onIdle
      onIdle = []
      for (const resolve of waiting) resolve()
    },
  }
  const ending = `.${service}`
  /** Last valid longer name, which gateways usually repeat. */
  let longer = service
  const isLocalName = (name: string): boolean => {
    if (name === service || name === longer) return true
    if (!name.endsWith(ending) || !isServiceName(name)) return false
    longer = name
    return true
  }
  /** Finds the endpoint of a call, or rejects it and returns undefined. */
  const find = (
    call: ServableCall & { readonly endpoint: string },
    isTrusted: boolean,
  ): ServedEndpoint | undefined => {
    requests++
    const endpoint = table.get(call.endpoint)
    const isLocalService = isLocalName(call.service)
    if (endpoint === undefined || !isLocalService) {
      deny(call, toNotFound(isLocalService ? call.service : service, call, isLocalService))
      return undefined
    }
    // Metadata of calls within the process was created by `formatMetadata` and is valid.
    if (!isTrusted && call.metadata !== '' && !isMetadata(call.metadata)) {
      deny(call, new GatewayError(call.service, 400, MALFORMED_METADATA))
      return undefined
    }
    return endpoint
  }
  const deny = (call: Pick<ServableCall, 'fail'>, error: GatewayError): void => {
    errors++
    call.fail(error)
  }
  const serve = (
    call: ServableCall,
    endpoint: ServedEndpoint,
    isLocal: boolean,
    metadata?: string,
  ): void => {
    active++
    new ServedCall(call, endpoint, memory, performance.now(), isLocal, metadata).serve()
  }
  const serveTrusted = (
    call: ServableCall & { readonly endpoint: string },
    isLocal: boolean,
  ): void => {
    const endpoint = find(call, isLocal)
    if (endpoint !== undefined) serve(call, endpoint, isLocal)
  }
  return {
    service,
    handle,
    dispatch(call, address = '') {
      if (guard === undefined) return serveTrusted(call, false)
      const endpoint = find(call, false)
      if (endpoint === undefined) return
      if (endpoint.name === HEALTH) return serve(call, endpoint, false, withCaller(call.metadata))
      const target = {
        name: service,
        domain,
        isStream: endpoint.kind !== 'unary',
        address: usesCallerAddress(service) ? address : '',
      }
      guard.pass(call, target, {
        serve: (authorized, metadata) => serve(authorized, endpoint, false, metadata),
        deny: deny,
      })
    },
    dispatchTrusted: (call) => serveTrusted(call, false),
    dispatchLocal: (call) => serveTrusted(call, true),
    describe: () => served.map((endpoint) => endpoint.describe()),
    get active() {
      return active
    },
    idle: () =>
      active === 0 ? Promise.resolve() : new Promise((resolve) => void onIdle.push(resolve)),
    guard(authorizer, ofService) {
      guard = new CallGuard(authorizer)
      domain = ofService
    },
    close: () => guard?.close(),
    log,
    traces,
  }
}

/** Not-found error (reference 15.2). Truncates names, which come from the caller. */
function toNotFound(
  id: string,
  { service, endpoint }: { readonly service: string; readonly endpoint: string },
  isServed: boolean,
): GatewayError {
  const detail = isServed
    ? `endpoint not found: ${service}.${truncate(endpoint)}`
    : `service not found: ${truncate(service)}`
  return new GatewayError(id, 404, detail)
}

function truncate(name: string): string {
  return name.length > 253 ? `${name.slice(0, 253)}...` : name
}
