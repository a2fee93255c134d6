import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { toClientSocketsMax } from '../../core/listener/websocket/client-sockets.ts'
import { PROXY_ID } from '../../core/rpc/hops.ts'
import { WS_MESSAGE_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import { type CidrSet, createCidrSet } from '../../lib/net/cidr-set.ts'
import { findLocalCaller } from '../../sdk/internal/local-services.ts'
import type { ServiceHost } from '../../sdk/service/shared-port.ts'
import type { Configuration } from '../config/types.ts'
import { logOutage } from '../gateway/log-outage.ts'
import type { DomainRegistries } from '../gateway/routing/domains.ts'
import { createUpstreams } from '../gateway/upstreams.ts'
import type { Log } from '../process/log.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'
import { createProxyFinder } from './resolve-upstream.ts'
import { openRpcProxy, type RpcProxy } from './rpc-proxy.ts'

export interface ServerProxyOptions {
  readonly configuration: Configuration
  /** Registry of the default domain. */
  readonly registry: Registry
  readonly domains: DomainRegistries
  /** Authorizes forwarded calls. */
  readonly authorizer: Authorizer
  /** Maximum number of open files. */
  readonly fileLimit: number
  readonly log: Log
}

/** RPC proxy of a server, which hosts the server's services. */
export interface ServerProxy {
  /** Address with the actual port. */
  readonly address: Address
  readonly host: ServiceHost
  readonly dispatch: RpcProxy['dispatch']
  /** Starts to forward calls. Earlier calls fail with 503. */
  readonly begin: () => void
  /** Applies another configuration. */
  readonly use: (next: Configuration) => void
  /** Stops accepting calls and waits up to `drain_timeout` for calls in flight. */
  readonly drain: () => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Opens the RPC proxy of a server.
 *
 * @throws {Error} with a one-line message if the port is in use or not permitted.
 */
export async function openServerProxy(options: ServerProxyOptions): Promise<ServerProxy> {
  const { configuration, registry, domains, authorizer, fileLimit, log } = options
  const { settings } = configuration
  let { drainTimeoutMs } = settings
  let trusted = toTrusted(settings)
  let state: 'starting' | 'running' | 'stopping' = 'starting'
  const upstreams = createUpstreams(configuration, {
    maxConnections: Math.ceil(fileLimit / 2),
    findCaller: findLocalCaller,
    log,
  })
  const finder = createProxyFinder({
    registry,
    domains,
    directory: {
      upstream: upstreams.of,
      onError: (service, error) => log.warn({ service, err: error }, 'registry failed'),
      onOutage: (outage, details) => logOutage(log, outage, details, finder.size()),
    },
  })
  const proxy = await openRpcProxy({
    address: settings.proxyAddress,
    find(service, metadata) {
      if (state !== 'running')
        throw new GatewayError(PROXY_ID, 503, `the server is ${state}`, {
          headers: ['retry-after', '1'],
        })
      return finder.find(service, metadata)
    },
    log,
    authorizer,
    isTrusted: (address) => trusted.lookup(address).inside,
    limits: {
      maxConnections: Math.floor(fileLimit / 2),
      // A lower limit for gateway clients does not apply here, because services on the same machine
      // share an address.
      maxClientSockets: Math.max(
        toClientSocketsMax('auto', WS_MESSAGE_MAX_BYTES),
        toClientSocketsMax(settings.maxClientWebSockets, WS_MESSAGE_MAX_BYTES),
      ),
    },
    ...(settings.listener === 'node' && { listener: 'node' }),
  }).catch((error: unknown) => {
    finder.close()
    throw error
  })

  return {
    address: { ...settings.proxyAddress, port: proxy.port },
    host: { ...proxy, address: toAdvertised(settings, proxy) },
    dispatch: proxy.dispatch,

    begin() {
      state = 'running'
    },

    use(next) {
      ;({ drainTimeoutMs } = next.settings)
      trusted = toTrusted(next.settings)
      upstreams.use(next)
      finder.reconfigure()
    },

    async drain() {
      state = 'stopping'
      if (!(await settlesWithin(proxy.drain(), drainTimeoutMs)))
        log.warn('drain_timeout exceeded; aborting calls in flight')
    },

    async close() {
      await proxy.close()
      finder.close()
    },
  }
}

/** Standalone gateways in front of the server are also trusted proxies. */
function toTrusted({ trustedProxies }: Settings): CidrSet {
  return createCidrSet(trustedProxies, 'trusted_proxies')
}

function toAdvertised(
  { advertiseAddress }: Settings,
  { address, port }: { readonly address: string; readonly port: number },
): string {
  if (advertiseAddress === undefined) return address
  return formatAddress({ host: advertiseAddress.host, port: advertiseAddress.port ?? port })
}
