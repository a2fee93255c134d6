import { oneOf, SWITCH } from '../../../lib/values/value.ts'
import { ALLOW_LIST, HOSTS, NETWORKS, ORIGINS, WEB_ORIGINS } from '../parse/client-filter.ts'
import type { SettingTable } from '../setting.ts'

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const

export interface AccessSettings {
  readonly trustedProxies: readonly string[]
  readonly trustedProxiesHeader: (typeof FORWARDING_HEADERS)[number]
  readonly trustedProxiesOptional: boolean
  /** Host names of requests, in addition to this machine's names. */
  readonly hosts: 'any' | readonly string[]
  readonly corsOrigins: readonly string[]
  /** Web origins, in addition to the same host. */
  readonly webOrigins: 'any' | readonly string[]
  readonly rpcAddressAllow: readonly string[]
  readonly registerAllow: readonly string[]
  readonly egressAllow: readonly string[]
}

export const ACCESS_SETTINGS: SettingTable<AccessSettings> = {
  trustedProxies: {
    ...NETWORKS,
    name: 'trusted_proxies',
    description:
      'Trusted proxies, such as 10.0.0.0/8, whose X-Forwarded-* headers are used; for a server, this includes its gateways',
    default: '',
    live: true,
  },
  trustedProxiesHeader: {
    ...oneOf(FORWARDING_HEADERS, 'name'),
    name: 'trusted_proxies_header',
    description:
      'Header in which trusted proxies send the client address: x-forwarded-for or forwarded; the other header is ignored',
    default: 'x-forwarded-for',
    live: true,
  },
  trustedProxiesOptional: {
    ...SWITCH,
    name: 'trusted_proxies_optional',
    description:
      'Accept requests from trusted proxies without a valid client address in that header; otherwise, they are rejected with 400',
    default: 'false',
    live: true,
  },
  hosts: {
    ...HOSTS,
    name: 'hosts',
    description:
      'Accepted host names of requests; other hosts are rejected with 403: any, local (localhost, names that end in .localhost, IP addresses, the name in address), or additional names such as app.example.com or *.example.com',
    default: 'any',
    live: true,
  },
  corsOrigins: {
    ...ORIGINS,
    name: 'cors_origins',
    description:
      'Web origins that may call from a browser, such as https://app.example.com; * for any',
    default: '',
    live: true,
  },
  webOrigins: {
    ...WEB_ORIGINS,
    name: 'web_origins',
    description:
      'Web pages that may send requests and open WebSockets; others are rejected with 403: any, same-host, or additional origins such as https://app.example.com; cors_origins are included',
    default: 'any',
    inServer: { default: 'same-host' },
    live: true,
  },
  rpcAddressAllow: {
    ...ALLOW_LIST,
    name: 'rpc_address_allow',
    description: 'Networks in which explicit calls (/rpc) may specify an unregistered address',
    default: 'loopback',
    live: true,
  },
  registerAllow: {
    ...ALLOW_LIST,
    name: 'register_allow',
    description:
      'Networks in which services may register nodes in addition to the address they connect from, such as 10.0.0.0/8, private or loopback; operators may register any address',
    default: '',
    only: 'server',
    live: true,
  },
  egressAllow: {
    ...ALLOW_LIST,
    name: 'egress_allow',
    description:
      'Networks from which repositories may be fetched: public, private, loopback, link-local, or networks such as 10.0.0.0/8',
    default: 'public,private',
    only: 'server',
    live: true,
  },
}
