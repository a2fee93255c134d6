import { SERVER_ADDRESSES } from '../parse/address.ts'
import { NETWORK_NAME, SERVER_ID } from '../parse/names.ts'
import { SHARED_TOKEN } from '../parse/secret.ts'
import type { SettingTable } from '../setting.ts'

export interface NetworkSettings {
  readonly network: string
  /** RPC proxies, each `mx://host:port` or `mxs://host:port`. */
  readonly networkNodes: readonly string[]
  /** Token; empty if none. */
  readonly networkToken: string
  /** If empty, the id in the data folder, or a generated id. */
  readonly serverId: string
}

export const NETWORK_SETTINGS: SettingTable<NetworkSettings> = {
  network: {
    ...NETWORK_NAME,
    name: 'network',
    description: 'Name of the network of servers; servers of other networks are rejected',
    default: 'mx',
    only: 'server',
    live: false,
  },
  networkNodes: {
    ...SERVER_ADDRESSES,
    name: 'network_nodes',
    description:
      'RPC proxies of servers to link with, whose services become callable here; mxs://host:port for TLS',
    default: '',
    only: 'server',
    live: false,
  },
  networkToken: {
    ...SHARED_TOKEN,
    name: 'network_token',
    description:
      'Shared secret of the servers of the network, required to link; at least 16 characters',
    default: '',
    unset: 'links are rejected, except in profile test',
    only: 'server',
    notInFile: 'set MX_NETWORK_TOKEN instead',
    live: false,
  },
  serverId: {
    ...SERVER_ID,
    name: 'server_id',
    description: 'Id of this server in the network of servers',
    default: '',
    unset: 'stored in the data folder, otherwise generated on every start',
    only: 'server',
    live: false,
  },
}
