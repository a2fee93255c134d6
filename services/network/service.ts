import type { Authorizer } from '../../core/contracts/auth.ts'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import {
  parseServerAddress,
  SERVER_ADDRESS_FORMS,
  type ServerAddress,
} from '../../domain/mesh/address.ts'
import { isNetworkName } from '../../domain/mesh/handshake.ts'
import { MAX_PEERS } from '../../domain/mesh/limits.ts'
import { toServerKey } from '../../domain/mesh/names.ts'
import type { Network } from '../../domain/mesh/network.ts'
import { formatServer } from '../../domain/mesh/registry/entry.ts'
import type { Store } from '../../domain/store/store.ts'
import { redactUrl } from '../../lib/text/redact.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createAcceptedLinks } from './accepted-links.ts'
import { createAdmission } from './admission.ts'
import { createPeerCheck } from './check-peer.ts'
import { createNetworkEndpoints } from './endpoints.ts'
import { createKnownServices } from './known-services.ts'
import { NETWORK } from './link-call.ts'
import { createLinks } from './links.ts'
import { createView } from './status.ts'

const DESCRIPTION = 'Links with other servers'

export interface NetworkServiceOptions extends Omit<ServiceOptions, 'name' | 'proxy'> {
  /** Network of this server, which is started and closed with the service. */
  readonly network: Network
  /** Name of the network; servers of other networks are rejected. @default 'mx' */
  readonly networkName?: string
  /**
   * Advertised address of the RPC proxy as `host:port`, `mx://host:port` or `mxs://host:port`.
   *
   * @default address of the service
   */
  readonly advertise?: string
  /** RPC proxies of the servers to link with, in the format of `advertise`. */
  readonly nodes?: readonly string[]
  /**
   * Shared token of the network. Only servers that have it may link.
   *
   * @default '', which allows no links
   */
  readonly token?: string
  /**
   * Whether to allow links without a token, for tests. Any server that links can then provide
   * services.
   *
   * @default false
   */
  readonly isOpen?: boolean
  /** Stores the services of other servers across restarts. @default services are not stored */
  readonly store?: Store
  /** Policy for the addresses that linking servers advertise. @default any address is allowed */
  readonly egress?: Pick<EgressPolicy, 'resolvePeer'>
}

/** The built-in `network` service. */
export interface NetworkService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /**
   * Opens and accepts links. Must be called once the service has started and the RPC proxy accepts
   * calls.
   */
  readonly begin: () => Promise<void>
  /** Notifies peers that this server no longer accepts calls. It can still call them. */
  readonly leave: () => void
  /** Calls {@link leave}, ends all links, then stops the service. */
  readonly close: () => Promise<void>
}

/**
 * Creates the `network` service (reference 9), through which linked servers call each other's
 * services.
 *
 * @throws {TypeError} for an invalid name or address.
 */
export function createNetworkService(options: NetworkServiceOptions): NetworkService {
  const { network, networkName = 'mx', advertise, nodes = [], ...more } = options
  const { token = '', isOpen = false, store, egress, ...rest } = more
  const { id, table } = network
  if (!isNetworkName(networkName))
    throw new TypeError(
      `networkName must be 1 to 253 visible ASCII characters, got ${JSON.stringify(networkName)}`,
    )
  if (nodes.length > MAX_PEERS)
    throw new TypeError(`nodes must have at most ${MAX_PEERS} entries, got ${nodes.length}`)
  const addresses = nodes.map((text) => toAddress(text, 'nodes'))
  let ownAddress = advertise === undefined ? '' : toAddress(advertise, 'advertise').text
  let peers: readonly string[] = []

  const { authorizer } = rest
  const checks = createAccountChecks(authorizer)
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...rest,
    name: NETWORK,
    ...(authorizer !== undefined && token !== '' && { authorizer: withPublicLinks(authorizer) }),
  })
  const { log } = service
  const admission = createAdmission({
    id,
    network: networkName,
    address: () => ownAddress,
    token,
    isOpen,
  })
  const advertiseSelf = (): void =>
    table.setLocal(toServerKey(id), formatServer({ address: ownAddress, peers }))
  const links = createLinks({
    admission,
    network,
    log,
    onChange(linked) {
      peers = [...linked].sort()
      advertiseSelf()
    },
  })
  const accepted = createAcceptedLinks({
    admission,
    table,
    links,
    log,
    checkPeer: egress && createPeerCheck(egress, log, token !== ''),
  })
  network.listen(accepted.changed)
  const knownServices =
    store && createKnownServices({ store, key: id, source: network.routes, log })
  const view = createView({ table, id, network: networkName })
  service.handle('Network', createNetworkEndpoints({ view, links, accepted, checks }))

  return {
    service,

    async begin() {
      if (ownAddress === '') ownAddress = toAddress(service.address, 'address').text
      advertiseSelf()
      await network.start()
      await knownServices?.open()
      accepted.begin()
      for (const address of addresses) links.connect(address)
    },

    leave: accepted.close,

    async close() {
      accepted.close()
      await knownServices?.close()
      links.close()
      network.close()
      await service.stop()
    },
  }
}

// Links require the token regardless of rules, because servers have no accounts on each other.
function withPublicLinks(authorizer: Authorizer): Authorizer {
  return {
    ...authorizer,
    decide: (access) =>
      access.resource.endpoint === 'Network.Link'
        ? { granted: true, rule: undefined }
        : authorizer.decide(access),
  }
}

function toAddress(text: string, option: string): ServerAddress {
  const address = parseServerAddress(text)
  if (address !== undefined) return address
  throw new TypeError(
    `${option} must be ${SERVER_ADDRESS_FORMS}, got ${JSON.stringify(redactUrl(text).slice(0, 253))}`,
  )
}
