import { freeText, oneOf } from '../../../lib/values/value.ts'
import { BACKENDS, NAMESPACE_PREFIX, SERVICE_NAMES } from '../parse/names.ts'
import { REGISTRY_URL } from '../parse/server-urls.ts'
import type { SettingTable } from '../setting.ts'

/** The handler table of the specification, and the default handler. */
const HANDLERS = ['meta', 'api', 'rpc', 'proxy', 'event', 'web'] as const

export interface RoutingSettings {
  readonly handler: (typeof HANDLERS)[number]
  /** Empty: the default resolver of the handler. */
  readonly resolver: string
  /** Prefix of service names; empty if none. */
  readonly namespace: string
  /** `name=host:port[;weight],...` each. */
  readonly backends: readonly string[]
  /** `static`, `memory`, or the URL of a registry. */
  readonly registry: string
  /** A name without a dot is inside the namespace. */
  readonly encodedSlashServices: readonly string[]
}

export const ROUTING_SETTINGS: SettingTable<RoutingSettings> = {
  handler: {
    ...oneOf(HANDLERS, 'name'),
    name: 'handler',
    description:
      'How requests are forwarded: rpc, api (as calls), proxy, web (proxy and WebSockets), event (as messages), or meta: as the endpoint declares, else rpc',
    default: 'meta',
    only: 'api',
    live: false,
  },
  resolver: {
    ...freeText('name'),
    allowed:
      'proxy, rpc, event, endpoint, host, path, vpath, grpc, or subdomain:domain=example.com',
    name: 'resolver',
    description:
      'How a request line selects a service: proxy, rpc, event, endpoint, host, path, vpath, grpc, or subdomain:domain=example.com',
    default: '',
    unset: 'resolver of the handler',
    only: 'api',
    live: false,
  },
  namespace: {
    ...NAMESPACE_PREFIX,
    name: 'namespace',
    description: 'Prefix of service names, joined by a dot; a single blank disables it',
    default: 'go.mx.api',
    inServer: { default: ' ', unset: 'none' },
    live: true,
  },
  backends: {
    ...BACKENDS,
    name: 'backend',
    description:
      'Service and its nodes; a name without a dot is inside the namespace; a node is host:port or http:// for HTTP, https:// for TLS, mx:// or mxs:// for services of the SDK, grpc:// or grpcs:// for gRPC',
    default: '',
    notInFile: 'list backends under "services"',
    live: true,
  },
  registry: {
    ...REGISTRY_URL,
    name: 'registry',
    description:
      'Registry of services that neither --backend nor mx.yaml lists: static (none), mx://host:port, mxs://host:port, consul://host:port, consuls://host:port, kubernetes, or memory',
    default: 'static',
    inServer: {
      description:
        'Service registry: memory (built in), consul://host:port, consuls://host:port or kubernetes',
    },
    live: false,
  },
  encodedSlashServices: {
    ...SERVICE_NAMES,
    name: 'encoded_slash_services',
    description:
      'Proxied services that receive paths with %2F, which are rejected with 400 otherwise; with the resolver host all services receive them',
    default: '',
    live: false,
  },
}
