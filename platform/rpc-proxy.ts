import type { PluginLog } from '../core/define-plugin.ts'
import { PROXY_ID } from '../core/rpc/hops.ts'
import { type FindUpstream, forwardCall } from '../core/rpc/proxied-call.ts'
import type { Dispatcher } from '../sdk/dispatch.ts'
import type { ListenAddress } from '../sdk/listen-address.ts'
import type { ServiceHost } from '../sdk/service-host.ts'
import { openServicePort, type ServiceLimits, type ServicePort } from '../sdk/service-port.ts'

export interface RpcProxyOptions {
  readonly address: ListenAddress
  /** The nodes of services it does not host. */
  readonly find: FindUpstream
  readonly log: PluginLog
  readonly limits?: ServiceLimits
  /** @default uws where it loads */
  readonly listener?: ServicePort['server']
  /** Web origins whose pages may call. @default none */
  readonly origins?: readonly string[]
}

/** A port where every service can be called by its name, and the host of those of this process. */
export interface RpcProxy extends ServicePort, ServiceHost {}

/**
 * Opens the RPC proxy (docs/protocol.md §4): it serves the services it hosts, and forwards all other calls to a node of their service.
 *
 * @throws {Error} with one clear line when the port is in use or may not be opened.
 * @throws {TypeError} when an origin is none.
 */
export async function openRpcProxy(options: RpcProxyOptions): Promise<RpcProxy> {
  const { address, find, log, limits = {}, listener, origins = [] } = options
  const hosted = new Map<string, Dispatcher>()
  const port = await openServicePort({
    address,
    id: PROXY_ID,
    dispatch(call) {
      const own = hosted.get(call.service)
      if (own !== undefined) own.dispatch(call)
      else forwardCall(call, find)
    },
    log,
    limits,
    listener,
    origins,
  })
  return {
    ...port,
    add(dispatcher) {
      const { service } = dispatcher
      if (hosted.has(service))
        throw new Error(`${port.address} serves a service ${service} already`)
      hosted.set(service, dispatcher)
      return () => {
        if (hosted.get(service) === dispatcher) hosted.delete(service)
      }
    },
  }
}
