import type { DnsOptions } from '../../adapters/registry/dns/dns-services.ts'
import type { SrvName } from '../../adapters/registry/dns/names.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import type { Priority } from '../../core/upstream/concurrency/concurrency-options.ts'
import type { NodeHost } from '../../core/upstream/node/node-host.ts'
import type { ConfiguredPolicies } from '../../core/upstream/policies/configured-policies.ts'
import type { UpstreamTls } from '../../core/upstream/tls.ts'
import type { Address } from '../settings/parse/address.ts'
import type { Settings, SettingsInput } from '../settings/settings.ts'
import type { ReferencedOptions } from './references/option-values.ts'
import { References } from './references/references.ts'

/** A service of `services:`. */
export interface ConfiguredService {
  /** As in the file; without a dot it is relative to the namespace. */
  readonly name: string
  /** `host:port[;weight]`, as in `--backend`. Empty without {@link srv}: the registry has the nodes. */
  readonly nodes: readonly string[]
  /** SRV names among the nodes. */
  readonly srv: readonly SrvName[]
  /** Each address of a node's name is a node. Undefined: names are resolved for each connection. */
  readonly dns: DnsOptions | undefined
  /** Override of `balance`. */
  readonly balance: string | undefined
  /** Overrides of `keep_alive` and `max_connection_age`, milliseconds. */
  readonly keepAliveMs: number | undefined
  readonly maxConnectionAgeMs: number | undefined
  readonly timeouts: ConfiguredTimeouts
  /** Whether paths may contain `%2F`. */
  readonly encodedSlash: boolean
  /** Connections to https://, grpcs:// and mxs:// nodes. */
  readonly tls: ConfiguredTls | undefined
  /** `Host` of requests to nodes. @default as in the registry, else `client` */
  readonly host: NodeHost | 'client' | undefined
  /** Overrides of the policies of the gateway. */
  readonly policies?: ConfiguredPolicies
  /** Plugins for requests to this service. */
  readonly plugins: readonly PluginEntry[]
  readonly errors?: readonly ErrorPageEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** `timeout:` of a service or route, milliseconds: overrides of `connect_timeout` and so on. */
export interface ConfiguredTimeouts {
  /** The whole request; Infinity: no limit. */
  readonly request?: number | undefined
  /** Not of a route: its requests use the connections of the service. */
  readonly connect?: number | undefined
  readonly response?: number | undefined
  readonly idle?: number | undefined
}

/** `tls:` of a service, with the contents of its files. */
export interface ConfiguredTls extends UpstreamTls {
  /** Files to watch, absolute. */
  readonly files: readonly string[]
  /** Such as an expired certificate. */
  readonly warnings: readonly string[]
  readonly at: string
}

/** Condition on a header (lower case) or a query parameter. */
export interface RouteValue {
  readonly name: string
  readonly kind: 'exact' | 'prefix' | 'present'
  /** Empty for `present`. */
  readonly value: string
}

/** `match:` of a route. */
export interface RouteMatch {
  readonly paths: readonly PathTemplate[]
  /** Lower case: `*`, names, or `*.<name>`; at least one. */
  readonly hosts: readonly string[]
  /** Upper case; empty: any. */
  readonly methods: readonly string[]
  readonly headers: readonly RouteValue[]
  readonly query: readonly RouteValue[]
  /** Networks; empty: any client. */
  readonly clients: readonly string[]
  /** Names of listeners; empty: any. */
  readonly listeners: readonly string[]
}

export type RouteAction =
  | {
      readonly kind: 'service'
      /** As in the file; without a dot it is relative to the namespace. */
      readonly service: string
      readonly handler: string | undefined
      /** `Handler.Method`; empty: the request is proxied. */
      readonly endpoint: string
      /** Empty if none. */
      readonly stripPrefix: string
      readonly addPrefix: string
      /** Template of the new path. */
      readonly path: string | undefined
      /** Template of `Host` for the service; undefined: unchanged. */
      readonly host: string | undefined
      /** Parameters to set, values are templates. */
      readonly query: readonly (readonly [name: string, value: string])[]
    }
  | {
      readonly kind: 'redirect'
      readonly scheme: 'http' | 'https' | undefined
      readonly host: string | undefined
      readonly path: string | undefined
      readonly status: number
    }
  | {
      readonly kind: 'respond'
      readonly status: number
      readonly body: string
      /** Names and values. */
      readonly headers: readonly string[]
    }
  | FilesAction

/** Files of a folder. */
export interface FilesAction {
  readonly kind: 'files'
  /** Absolute. */
  readonly root: string
  /** File of a folder. */
  readonly index: string
  /** Below `root`; undefined: missing files are 404. */
  readonly fallback: string | undefined
  /** Empty if none. */
  readonly stripPrefix: string
  /** `Cache-Control` by path below `root`. */
  readonly cacheControl: readonly (readonly [path: PathTemplate, value: string])[]
}

/** A route of `routes:`. */
export interface ConfiguredRoute {
  /** Given or the position from 1; unique. */
  readonly name: string
  readonly match: RouteMatch
  readonly action: RouteAction
  readonly timeouts: ConfiguredTimeouts
  /** Overrides of the policies of the service. */
  readonly policies?: Pick<ConfiguredPolicies, 'retry' | 'hedge' | 'concurrency'>
  /** Priority of its requests. @default 'default' */
  readonly priority?: Priority
  readonly plugins: readonly PluginEntry[]
  readonly errors?: readonly ErrorPageEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** A consumer of `consumers:`. */
export interface ConfiguredConsumer {
  /** Account id, including the id of an API key or an OIDC user. */
  readonly account: string
  /** Namespace of the account. */
  readonly namespace: string
  /** Priority of its requests. @default the priority of the route */
  readonly priority?: Priority
  readonly plugins: readonly PluginEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Certificates of a listener. */
export interface ListenerTls {
  /** Certificates from the ACME server of the settings, instead of files. */
  readonly hasAcme: boolean
  /** Absolute, or `self-signed` alone. */
  readonly certFiles: readonly string[]
  readonly keyFiles: readonly string[]
  /** Absolute; empty: no client certificates are requested. */
  readonly clientCa: string
  readonly clientAuth: 'required' | 'optional'
}

/** A listener of `listen:`. */
export interface ConfiguredListener {
  /** Given or the position from 1; unique. */
  readonly name: string
  readonly address: Address
  /** Undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined
  readonly httpsRedirect: boolean
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** A plugin of `plugins:`. */
export interface PluginEntry {
  /** Name, package, or file (absolute). */
  readonly specifier: string
  readonly options: unknown
  /** Options whose values come from references. @default none */
  readonly references?: ReferencedOptions | undefined
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Page in place of the body of an error: a file or a service. */
export interface ErrorPageEntry {
  /** `400` to `599`, `4xx` or `5xx`. */
  readonly status: string
  /** Absolute path. */
  readonly file: string | undefined
  /** As in the file; without a dot it is relative to the namespace. */
  readonly service: string | undefined
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Parsed configuration file. */
export interface ConfigFile {
  /** Base folder of relative paths. */
  readonly folder: string
  readonly settings: SettingsInput
  readonly services: readonly ConfiguredService[]
  readonly routes: readonly ConfiguredRoute[]
  readonly consumers: readonly ConfiguredConsumer[]
  /** Empty: one listener, configured by the settings. */
  readonly listen: readonly ConfiguredListener[]
  /** Replaces the default plugins; undefined to use them. */
  readonly plugins: readonly PluginEntry[] | undefined
  readonly errors?: readonly ErrorPageEntry[]
  /** For all services. */
  readonly policies?: ConfiguredPolicies
  /** Contents of the file, with its references; empty without one. */
  readonly text: string
  /** References of the file, the same object for every reload. */
  readonly references: References
}

export const NO_CONFIG: ConfigFile = {
  folder: process.cwd(),
  settings: new Map(),
  services: [],
  routes: [],
  consumers: [],
  listen: [],
  plugins: undefined,
  text: '',
  references: new References({}),
}

/** Merged configuration of a command: flags, environment, configuration file. */
export interface Configuration {
  readonly settings: Settings
  readonly config: ConfigFile
  /** Explicitly set values and their sources; other settings come from the profile or have their defaults. */
  readonly inputs: SettingsInput
  /** Path of the configuration file; undefined without one. */
  readonly file: string | undefined
}
