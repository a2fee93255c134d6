import type { Endpoint } from '../core/contracts/registry.ts'
import { GatewayError } from '../core/errors.ts'
import type { IncomingCall } from '../core/rpc/call.ts'
import { createDebugEndpoints } from './debug.ts'
import { type Endpoints, toEndpointName } from './endpoint.ts'
import { type CallKeeper, CLIENT_LEFT, ServedCall } from './served-call.ts'
import { ServedEndpoint } from './served-endpoint.ts'
import { createServiceLog, type ServiceLog } from './service-log.ts'
import { Traces } from './traces.ts'

/** The handler every service has, and none declares. */
const DEBUG = 'Debug'

export interface DispatcherOptions {
  /** Full name of the service: the id of its errors. */
  readonly service: string
  /** Its endpoints by handler and method: `{ Helloworld: { call } }`. */
  readonly handlers: Readonly<Record<string, Endpoints>>
  /** @default JSON lines on standard error */
  readonly log?: ServiceLog
}

/** Serves the calls of one service, whatever carries them. */
export interface Dispatcher {
  /** Serves a call: a transport's `Dispatch`. Never throws. */
  readonly dispatch: (call: IncomingCall) => void
  /** What the registry is told of the endpoints; those of `Debug` are left out, so that no list shows them. */
  readonly describe: () => Endpoint[]
  /** Calls that are being served. */
  readonly active: number
  readonly log: ServiceLog
  /** The last calls, for `Debug.Trace`. A client adds those it makes. */
  readonly traces: Traces
}

/**
 * Prepares the endpoints of a service.
 *
 * @throws {TypeError} for a name or schema that is none, two endpoints of one name, or a handler `Debug`.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { service, handlers, log = createServiceLog({ service }) } = options
  const traces = new Traces()
  let requests = 0
  let errors = 0
  let active = 0
  const table = new Map<string, ServedEndpoint>()
  const add = (handler: string, endpoints: Endpoints): void => {
    for (const [method, definition] of Object.entries(endpoints)) {
      const name = toEndpointName(handler, method)
      if (table.has(name)) throw new TypeError(`endpoint ${name} is declared twice`)
      table.set(name, new ServedEndpoint(service, name, definition))
    }
  }
  for (const [handler, endpoints] of Object.entries(handlers)) {
    if (handler.toLowerCase() === DEBUG.toLowerCase())
      throw new TypeError(`the handler ${handler} is every service's own`)
    add(handler, endpoints)
  }
  const own = [...table.values()]
  add(DEBUG, createDebugEndpoints({ log, traces, counts: () => ({ requests, errors }) }))

  const keeper: CallKeeper = {
    log,
    onOver(call, code) {
      active--
      if (code !== 200 && code !== CLIENT_LEFT) errors++
      traces.add(call.fullName, 'INBOUND', call.startedMs, performance.now(), code, call.metadata)
    },
  }
  return {
    dispatch(call) {
      requests++
      const endpoint = table.get(call.endpoint)
      if (endpoint === undefined || call.service !== service) {
        errors++
        return call.fail(toNotFound(service, call))
      }
      active++
      new ServedCall(call, endpoint, keeper, performance.now()).serve()
    },
    describe: () => own.map((endpoint) => endpoint.describe()),
    get active() {
      return active
    },
    log,
    traces,
  }
}

/** Reference 15.2. Names come from the caller, and may be long. */
function toNotFound(service: string, call: IncomingCall): GatewayError {
  const cut = (name: string) => (name.length > 253 ? `${name.slice(0, 253)}...` : name)
  return call.service === service
    ? new GatewayError(service, 404, `endpoint not found: ${service}.${cut(call.endpoint)}`)
    : new GatewayError(service, 404, `service not found: ${cut(call.service)}`)
}
