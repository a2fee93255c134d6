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

/** A service in `services:`. */
export interface ConfiguredService {
  /** Name as written in the file. A name without a dot is relative to the namespace. */
  readonly name: string
  /**
   * Nodes as `host:port[;weight]`, as in `--backend`. If both this list and {@link srv} are empty,
   * the nodes come from the registry.
   */
  readonly nodes: readonly string[]
  /** SRV names among the nodes. */
  readonly srv: readonly SrvName[]
  /**
   * If set, each address of a node's name is a node. If undefined, names are resolved for each
   * connection.
   */
  readonly dns: DnsOptions | undefined
  /** Overrides `balance`. */
  readonly balance: string | undefined
  /** Overrides `keep_alive` and `max_connection_age`, in milliseconds. */
  readonly keepAliveMs: number | undefined
  readonly maxConnectionAgeMs: number | undefined
  readonly timeouts: ConfiguredTimeouts
  /** Whether paths may contain `%2F`. */
  readonly encodedSlash: boolean
  /** TLS options for connections to https://, grpcs:// and mxs:// nodes. */
  readonly tls: ConfiguredTls | undefined
  /** `Host` header of requests to nodes. @default the value in the registry, otherwise `client` */
  readonly host: NodeHost | 'client' | undefined
  /** Overrides the policies of the gateway. */
  readonly policies?: ConfiguredPolicies
  /** Plugins for requests to this service. */
  readonly plugins: readonly PluginEntry[]
  readonly errors?: readonly ErrorPageEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/**
 * `timeout:` of a service or route in milliseconds, which overrides `connect_timeout` and so on.
 */
export interface ConfiguredTimeouts {
  /** Timeout of the entire request; Infinity disables it. */
  readonly request?: number | undefined
  /** Not available for routes, whose requests use the connections of the service. */
  readonly connect?: number | undefined
  readonly response?: number | undefined
  readonly idle?: number | undefined
}

/** `tls:` of a service with the contents of its files. */
export interface ConfiguredTls extends UpstreamTls {
  /** Absolute paths of the files to watch. */
  readonly files: readonly string[]
  /** Warnings, for example about an expired certificate. */
  readonly warnings: readonly string[]
  readonly at: string
}

/** Condition on a header (in lower case) or a query parameter. */
export interface RouteValue {
  readonly name: string
  readonly kind: 'exact' | 'prefix' | 'present'
  /** Value; empty for `present`. */
  readonly value: string
}

/** `match:` of a route. */
export interface RouteMatch {
  readonly paths: readonly PathTemplate[]
  /** Host patterns in lower case: `*`, names, or `*.<name>`. At least one. */
  readonly hosts: readonly string[]
  /** Methods in upper case; any method if empty. */
  readonly methods: readonly string[]
  readonly headers: readonly RouteValue[]
  readonly query: readonly RouteValue[]
  /** Client networks; any client if empty. */
  readonly clients: readonly string[]
  /** Names of listeners; any listener if empty. */
  readonly listeners: readonly string[]
}

export type RouteAction =
  | {
      readonly kind: 'service'
      /** Name as written in the file. A name without a dot is relative to the namespace. */
      readonly service: string
      readonly handler: string | undefined
      /** `Handler.Method` of a call. If empty, the request is proxied. */
      readonly endpoint: string
      /** Prefix to remove from the path; empty if none. */
      readonly stripPrefix: string
      readonly addPrefix: string
      /** Template of the new path. */
      readonly path: string | undefined
      /** Template of `Host` for the service; unchanged if undefined. */
      readonly host: string | undefined
      /** Query parameters to set. Values are templates. */
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
      /** Alternating header names and values. */
      readonly headers: readonly string[]
    }
  | FilesAction

/** Serves the files in a folder. */
export interface FilesAction {
  readonly kind: 'files'
  /** Absolute path of the folder. */
  readonly root: string
  /** Name of the index file of a folder. */
  readonly index: string
  /** File below `root` that is served instead of missing files. If undefined, they return 404. */
  readonly fallback: string | undefined
  /** Prefix to remove from the path; empty if none. */
  readonly stripPrefix: string
  /** `Cache-Control` by path below `root`. */
  readonly cacheControl: readonly (readonly [path: PathTemplate, value: string])[]
}

/** A route in `routes:`. */
export interface ConfiguredRoute {
  /** Unique name; the position, starting at 1, if not specified. */
  readonly name: string
  readonly match: RouteMatch
  readonly action: RouteAction
  readonly timeouts: ConfiguredTimeouts
  /** Overrides the policies of the service. */
  readonly policies?: Pick<ConfiguredPolicies, 'retry' | 'hedge' | 'concurrency'>
  /** Priority of the route's requests. @default 'default' */
  readonly priority?: Priority
  readonly plugins: readonly PluginEntry[]
  readonly errors?: readonly ErrorPageEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** A consumer in `consumers:`. */
export interface ConfiguredConsumer {
  /** Account id, including the id of an API key or an OIDC user. */
  readonly account: string
  /** Namespace of the account. */
  readonly namespace: string
  /** Priority of the consumer's requests. @default the priority of the route */
  readonly priority?: Priority
  readonly plugins: readonly PluginEntry[]
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Certificates of a listener. */
export interface ListenerTls {
  /** Whether to use certificates from the configured ACME server instead of files. */
  readonly hasAcme: boolean
  /** Absolute paths, or only `self-signed`. */
  readonly certFiles: readonly string[]
  readonly keyFiles: readonly string[]
  /** Absolute path. If empty, no client certificates are requested. */
  readonly clientCa: string
  readonly clientAuth: 'required' | 'optional'
}

/** A listener in `listen:`. */
export interface ConfiguredListener {
  /** Unique name; the position, starting at 1, if not specified. */
  readonly name: string
  readonly address: Address
  /** Undefined for plain HTTP. */
  readonly tls: ListenerTls | undefined
  readonly httpsRedirect: boolean
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** A plugin in `plugins:`. */
export interface PluginEntry {
  /** Name, package, or absolute path of a file. */
  readonly specifier: string
  readonly options: unknown
  /** Options whose values come from references. @default none */
  readonly references?: ReferencedOptions | undefined
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Page that replaces the body of an error, from a file or a service. */
export interface ErrorPageEntry {
  /** Status from `400` to `599`, `4xx` or `5xx`. */
  readonly status: string
  /** Absolute path of the file. */
  readonly file: string | undefined
  /** Name as written in the file. A name without a dot is relative to the namespace. */
  readonly service: string | undefined
  /** Source position for errors, for example `mx.yaml:3:5`. */
  readonly at: string
}

/** Parsed configuration file. */
export interface ConfigFile {
  /** Folder that relative paths refer to. */
  readonly folder: string
  readonly settings: SettingsInput
  readonly services: readonly ConfiguredService[]
  readonly routes: readonly ConfiguredRoute[]
  readonly consumers: readonly ConfiguredConsumer[]
  /** If empty, there is one listener, configured by the settings. */
  readonly listen: readonly ConfiguredListener[]
  /** Replaces the default plugins; undefined to use the default plugins. */
  readonly plugins: readonly PluginEntry[] | undefined
  readonly errors?: readonly ErrorPageEntry[]
  /** Policies for all services. */
  readonly policies?: ConfiguredPolicies
  /** Contents of the file with unresolved references; empty if there is no file. */
  readonly text: string
  /** References in the file. The object is the same for each reload. */
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

/** Merged configuration of a command from flags, environment and configuration file. */
export interface Configuration {
  readonly settings: Settings
  readonly config: ConfigFile
  /**
   * Explicitly set values and their sources. Other settings come from the profile or have their
   * defaults.
   */
  readonly inputs: SettingsInput
  /** Path of the configuration file; undefined if there is no file. */
  readonly file: string | undefined
}
