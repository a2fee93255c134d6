import { SESSION_TIME, TIMEOUT } from '../../../lib/values/amount.ts'
import { oneOf } from '../../../lib/values/value.ts'
import {
  ADVERTISED_ADDRESS,
  type Address,
  type Advertised,
  GATEWAY_ADDRESS,
  LISTEN_ADDRESS,
  LISTEN_ADDRESS_OR_NONE,
} from '../parse/address.ts'
import { SHARED_TOKEN } from '../parse/secret.ts'
import type { SettingTable } from '../setting.ts'

const LISTENERS = ['uws', 'node'] as const
const HTTP2_MODES = ['tls', 'cleartext', 'off'] as const

export interface ListenSettings {
  readonly address: Address
  readonly listener: (typeof LISTENERS)[number]
  readonly http2: (typeof HTTP2_MODES)[number]
  /** Undefined if none. */
  readonly http2Address: Address | undefined
  readonly clientKeepAliveMs: number
  /** Undefined if none. */
  readonly adminAddress: Address | undefined
  /** Token; empty if none. */
  readonly adminToken: string
  readonly proxyAddress: Address
  /** If undefined, the first address of this machine, provided that the RPC proxy listens on it. */
  readonly advertiseAddress: Advertised | undefined
  readonly webAddress: Address
  readonly webSessionIdleTimeoutMs: number
  readonly webSessionMaxAgeMs: number
}

export const LISTEN_SETTINGS: SettingTable<ListenSettings> = {
  address: {
    ...GATEWAY_ADDRESS,
    name: 'address',
    description:
      'Address to listen on; ":8080" means all IPv4 and IPv6 addresses, "0.0.0.0:8080" all IPv4 addresses; port 0 selects a free port; "unix:/path" is a Unix socket',
    default: '127.0.0.1:8080',
    live: false,
  },
  listener: {
    ...oneOf(LISTENERS, 'name'),
    name: 'listener',
    description: 'HTTP server: uws (fast) or node (strictest parser)',
    default: 'uws',
    live: false,
  },
  http2: {
    ...oneOf(HTTP2_MODES),
    name: 'http2',
    description:
      'HTTP/2 of the node listener: tls (over TLS only), cleartext (with TLS, and without TLS by prior knowledge, for gRPC) or off',
    default: 'tls',
    live: false,
  },
  http2Address: {
    ...LISTEN_ADDRESS_OR_NONE,
    name: 'http2_address',
    description: 'Additional address for HTTP/2 when listener is uws, served by the node listener',
    default: 'none',
    live: false,
  },
  clientKeepAliveMs: {
    ...TIMEOUT,
    name: 'client_keep_alive',
    description:
      'Idle timeout of client connections (node listener only); must exceed the idle timeout of a load balancer in front',
    default: '75s',
    live: false,
  },
  adminAddress: {
    ...LISTEN_ADDRESS_OR_NONE,
    name: 'admin_address',
    description: 'Address of /livez, /readyz and /metrics, for operators only',
    default: '127.0.0.1:8089',
    live: false,
  },
  adminToken: {
    ...SHARED_TOKEN,
    name: 'admin_token',
    description:
      'Bearer token for /config at the admin address, which mx api apply uses to replace the configuration; at least 16 characters',
    default: '',
    unset: '/config is not served',
    only: 'api',
    notInFile: 'set MX_ADMIN_TOKEN instead',
    live: false,
  },
  proxyAddress: {
    ...LISTEN_ADDRESS,
    name: 'proxy_address',
    description: 'Address of the RPC proxy, for services, clients and the command line',
    default: '127.0.0.1:8081',
    only: 'server',
    live: false,
  },
  advertiseAddress: {
    ...ADVERTISED_ADDRESS,
    name: 'advertise_address',
    description:
      'Address at which other machines reach the RPC proxy; registered for the services of this server',
    default: '',
    unset: 'the listen address, or the first address of this machine',
    only: 'server',
    live: false,
  },
  webAddress: {
    ...LISTEN_ADDRESS,
    name: 'web_address',
    description: 'Address of the dashboard',
    default: '127.0.0.1:8082',
    only: 'server',
    live: false,
  },
  webSessionIdleTimeoutMs: {
    ...SESSION_TIME,
    name: 'web_session_idle_timeout',
    description: 'Idle timeout of dashboard sessions; an open page keeps its session active',
    default: '30m',
    only: 'server',
    live: false,
  },
  webSessionMaxAgeMs: {
    ...SESSION_TIME,
    name: 'web_session_max_age',
    description: 'Maximum age of dashboard sessions since the login',
    default: '12h',
    only: 'server',
    live: false,
  },
}
