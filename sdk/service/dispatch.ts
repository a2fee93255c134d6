import { CallGuard } from '../../core/auth/call-authorization.ts'
import { usesCallerAddress, withCaller } from '../../core/auth/identity-headers.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { isMetadata, WRONG_METADATA } from '../../core/rpc/metadata.ts'
import { mustBeAdmin } from '../auth/account-checks.ts'
import { CLIENT_CLOSED_REQUEST } from '../client/client-closed-request.ts'
import type { Context } from '../context.ts'
import { createServiceLog, type ServiceLog } from '../log/service-log.ts'
import { Traces } from '../tracing/traces.ts'
import { createDebugEndpoints } from './debug.ts'
import { type Endpoints, toEndpointName } from './endpoint.ts'
import { type CallTracker, type ServableCall, ServedCall } from './served-call.ts'
import { ServedEndpoint } from './served-endpoint.ts'

/** The handler every service has, and none declares. */
const DEBUG = 'Debug'
/** Whether a service answers is no secret: probes know no tokens. */
const HEALTH = 'Debug.Health'

/** Endpoints by handler and method. */
export type Handlers = Readonly<Record<string, Endpoints>>

export interface DispatcherOptions {
  /** Full name of the service: the id of its errors. */
  readonly service: string
  /** Its endpoints by handler and method: `{ Helloworld: { call } }`. More may follow by {@link Dispatcher.handle}. */
  readonly handlers?: Handlers
  /** @default JSON lines on standard error */
  readonly log?: ServiceLog
  /** Decides who may call it from outside of this process. @default everybody may, and callers are whom the calls say */
  readonly gate?: Authorizer | undefined
}

/**
 * Serves the calls of one service, whatever carries them: those of its name, and of longer ones that end in
 * `.<name>`, since what stands in front is the namespace of whoever calls.
 */
export interface Dispatcher {
  /** Full name of the service. */
  readonly service: string
  /**
   * Adds the endpoints of a handler.
   *
   * @throws {TypeError} for a name or schema that is none, an endpoint that is there already, or the handler `Debug`.
   */
  readonly handle: (handler: string, endpoints: Endpoints) => void
  /**
   * Serves a call from outside, if the gate lets it in: a transport's `Dispatch`. Never throws.
   *
   * @param address IP address it comes from. @default not known
   */
  readonly dispatch: (call: IncomingCall, address?: string) => void
  /** Serves a call of this process, which was let in where it came from. Never throws. */
  readonly dispatchTrusted: (call: IncomingCall) => void
  /** As {@link dispatchTrusted}, with bodies that are values. */
  readonly dispatchLocal: (call: ServableCall & { readonly endpoint: string }) => void
  /** What the registry is told of the endpoints; those of `Debug` are left out, so that no list shows them. */
  readonly describe: () => Endpoint[]
  /** Calls that are being served. */
  readonly active: number
  /** Resolves once no call is being served. */
  readonly idle: () => Promise<void>
  /**
   * As {@link DispatcherOptions.gate}, before the first call comes.
   *
   * @param domain that the service is in.
   */
  readonly guard: (gate: Authorizer, domain: string) => void
  /** Ends what the gate is watched for; calls are served as before. */
  readonly close: () => void
  readonly log: ServiceLog
  /** The last calls, for `Debug.Trace`. A client adds those it makes. */
  readonly traces: Traces
}

/**
 * Prepares the endpoints of a service.
 *
 * @throws {TypeError} as {@link Dispatcher.handle}.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { service, handlers = {}, log = createServiceLog({ service }) } = options
  let guard = options.gate === undefined ? undefined : new CallGuard(options.gate)
  let domain = DEFAULT_DOMAIN
  const traces = new Traces()
  let requests = 0
  let errors = 0
  let active = 0
  let onIdle: (() => void)[] = []
  const table = new Map<string, ServedEndpoint>()
  const own: ServedEndpoint[] = []
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
      throw new TypeError(`the handler ${handler} is every service's own`)
    own.push(...add(handler, endpoints))
  }
  for (const [handler, endpoints] of Object.entries(handlers)) handle(handler, endpoints)
  const check = (ctx: Context): void => {
    if (guard !== undefined) mustBeAdmin(ctx, domain, `${service}.${ctx.endpoint}`)
  }
  add(DEBUG, createDebugEndpoints({ log, traces, counts: () => ({ requests, errors }), check }))

  const keeper: CallTracker = {
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
  /** The last longer name that was right: gateways call by the same one over and over. */
  let longer = service
  const isOurs = (name: string): boolean => {
    if (name === service || name === longer) return true
    if (!name.endsWith(ending) || !isServiceName(name)) return false
    longer = name
    return true
  }
  /** Answers a call that cannot be served; undefined: its endpoint. */
  const find = (
    call: ServableCall & { readonly endpoint: string },
    isTrusted: boolean,
  ): ServedEndpoint | undefined => {
    requests++
    const endpoint = table.get(call.endpoint)
    const ours = isOurs(call.service)
    if (endpoint === undefined || !ours) {
      refuse(call, toNotFound(ours ? call.service : service, call, ours))
      return undefined
    }
    // Within the process it was written by `formatMetadata`.
    if (!isTrusted && call.metadata !== '' && !isMetadata(call.metadata)) {
      refuse(call, new GatewayError(call.service, 400, WRONG_METADATA))
      return undefined
    }
    return endpoint
  }
  const refuse = (call: Pick<ServableCall, 'fail'>, error: GatewayError): void => {
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
    new ServedCall(call, endpoint, keeper, performance.now(), isLocal, metadata).serve()
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
        lasts: endpoint.kind !== 'unary',
        address: usesCallerAddress(service) ? address : '',
      }
      guard.pass(call, target, {
        serve: (admitted, metadata) => serve(admitted, endpoint, false, metadata),
        refuse,
      })
    },
    dispatchTrusted: (call) => serveTrusted(call, false),
    dispatchLocal: (call) => serveTrusted(call, true),
    describe: () => own.map((endpoint) => endpoint.describe()),
    get active() {
      return active
    },
    idle: () =>
      active === 0 ? Promise.resolve() : new Promise((resolve) => void onIdle.push(resolve)),
    guard(gate, ofService) {
      guard = new CallGuard(gate)
      domain = ofService
    },
    close: () => guard?.close(),
    log,
    traces,
  }
}

/** Reference 15.2. Names come from the caller, and may be long. */
function toNotFound(
  id: string,
  { service, endpoint }: { readonly service: string; readonly endpoint: string },
  ours: boolean,
): GatewayError {
  const detail = ours
    ? `endpoint not found: ${service}.${cut(endpoint)}`
    : `service not found: ${cut(service)}`
  return new GatewayError(id, 404, detail)
}

function cut(name: string): string {
  return name.length > 253 ? `${name.slice(0, 253)}...` : name
}
