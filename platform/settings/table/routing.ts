import { freeText, oneOf } from '../../../lib/values/value.ts'
import { BACKENDS, NAMESPACE_PREFIX, SERVICE_NAMES } from '../parse/names.ts'
import { REGISTRY_URL } from '../parse/server-urls.ts'
import type { SettingTable } from '../setting.ts'

/** The handler table of the specification, and the default handler. */
const HANDLERS = ['meta', 'api', 'rpc', 'proxy', 'event', 'web'] as const

export interface RoutingSettings {
  readonly handler: (typeof HANDLERS)[number]
  /** If empty, the default resolver of the handler is used. */
  readonly resolver: string
  /** Prefix of service names; empty if none. */
  readonly namespace: string
  /** Backends, each as `name=host:port[;weight],...`. */
  readonly backends: readonly string[]
  /** `static`, `memory`, or the URL of a registry. */
  readonly registry: string
  /** Service names. A name without a dot belongs to the namespace. */
  readonly encodedSlashServices: readonly string[]
}

export const ROUTING_SETTINGS: SettingTable<RoutingSettings> = {
  handler: {
    ...oneOf(HANDLERS, 'name'),
    name: 'handler',
    description:
      'How requests are forwarded: rpc, api (as calls), proxy, web (proxy and WebSockets), event (as messages), or meta (the handler declared by the endpoint, otherwise rpc)',
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
      'How a request selects its service: proxy, rpc, event, endpoint, host, path, vpath, grpc, or subdomain:domain=example.com',
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
      'Service and its nodes. A name without a dot belongs to the namespace. A node is host:port or http:// for HTTP, https:// for TLS, mx:// or mxs:// for services of the SDK, grpc:// or grpcs:// for gRPC',
    default: '',
    notInFile: 'list backends under "services"',
    live: true,
  },
  registry: {
    ...REGISTRY_URL,
    name: 'registry',
    description:
      'Registry for services not listed in --backend or mx.yaml: static (none), mx://host:port, mxs://host:port, consul://host:port, consuls://host:port, kubernetes, or memory',
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
      'Proxied services that receive paths with %2F, which are otherwise rejected with 400; with the resolver host, all services receive them',
    default: '',
    live: false,
  },
}
