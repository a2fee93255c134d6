// Longer than other files: the one table all ways of setting something are derived from.
import type { EventRetention } from '../../core/contracts/events.ts'
import type { UserIdRange } from '../../lib/process/sandbox/user-ids.ts'
import { PROFILES, type ProfileName } from '../profiles.ts'
import { QUOTA_SETTINGS, type QuotaSettings } from './quotas.ts'
import { parseMaxAge, parseMaxBytes, parseRetentions } from './retention.ts'
import { parseNamespaceNames, parseUserIds } from './runtime.ts'
import {
  type Advertised,
  BROKER_FORMS,
  EVENTS_FORMS,
  parseAdvertised,
  parseBrokerText,
  parseCores,
  parseEventsText,
  parseKeySource,
  parseNetworkName,
  parseNetworkToken,
  parsePassword,
  parsePreviousKey,
  parsePrivateKey,
  parseServerAddresses,
  parseServerId,
  parseStoreText,
  STORE_FORMS,
} from './server-values.ts'
import {
  parseAcmeHosts,
  parseCertFiles,
  parseDirectoryUrl,
  parseEmail,
  parsePermissionUrl,
} from './tls.ts'
import {
  type Address,
  parseAccessLog,
  parseAddress,
  parseAddressOrNone,
  parseAllowList,
  parseAuthSource,
  parseBackends,
  parseBalancePolicy,
  parseClientRanges,
  parseCount,
  parseCountOrAuto,
  parseDelay,
  parseHosts,
  parseLimit,
  parseLimitOrAuto,
  parseLongest,
  parseNamespace,
  parseNetworks,
  parseNonEmpty,
  parseOneOf,
  parseOrigins,
  parseRegistryText,
  parseRoom,
  parseServiceNames,
  parseSessionTime,
  parseSwitch,
  parseTimeout,
  parseWebOrigins,
  SESSION_IDLE_TIMEOUT,
  SESSION_MAX_AGE,
} from './values.ts'

/** Everything `mx api` and `mx server` can be told, checked. One property per row of {@link SETTINGS}. */
export interface Settings extends QuotaSettings {
  /** What `mx server` is made of where nothing else is said. */
  readonly profile: ProfileName
  readonly address: Address
  /** Of the RPC proxy. */
  readonly proxyAddress: Address
  /** Of the dashboard. */
  readonly webAddress: Address
  /** After which a session of the dashboard ends that no page uses. */
  readonly webSessionIdleTimeoutMs: number
  /** After which a session of the dashboard ends, counted from the login. */
  readonly webSessionMaxAgeMs: number
  /** Where health and metrics are told; undefined: nowhere. */
  readonly adminAddress: Address | undefined
  /** Where others reach the RPC proxy; undefined: at the first address of this machine, if it listens there. */
  readonly advertiseAddress: Advertised | undefined
  readonly handler: (typeof HANDLERS)[number]
  /** Empty: the one that belongs to the handler. */
  readonly resolver: string
  /** Prefix of service names; empty: none. */
  readonly namespace: string
  /** `static`, `memory`, or the text of a registry elsewhere. */
  readonly registry: string
  /** Where `mx server` keeps what it keeps in files; may begin with `~/`. */
  readonly dataDir: string
  /** `memory`, `lmdb` (a file), or the text of a store elsewhere. */
  readonly store: string
  /** What an acknowledged write to a file has reached. */
  readonly storeSync: (typeof SYNCS)[number]
  /** Most bytes of records in a memory or PostgreSQL store. */
  readonly maxStoreBytes: number | 'auto'
  /** `memory`, or the text of a broker elsewhere. */
  readonly broker: string
  /** `memory`, `lmdb` (a file), or the text of a server elsewhere. */
  readonly events: string
  /** Servers of a cluster of NATS that keep each event. */
  readonly eventsReplicas: number
  /** Topics of events a namespace may have. */
  readonly eventsTopics: number
  /** Milliseconds topics keep their events; 0: no limit. */
  readonly eventsMaxAgeMs: number
  /** Bytes of events a topic keeps; 0: no limit. */
  readonly eventsMaxBytes: number
  /** How much some topics keep instead, by name. */
  readonly eventsRetention: Readonly<Record<string, Partial<EventRetention>>>
  /** Where the events of the handler `event` go. */
  readonly eventSink: (typeof SINKS)[number]
  /** What runs services: processes of this machine, Kubernetes, or nothing does. */
  readonly runtime: (typeof RUNTIMES)[number]
  /** Namespaces whose administrators may run programs of this machine. */
  readonly runtimeNamespaces: readonly string[]
  /** Whether the root file system of pods of the runtime `kubernetes` is read-only. */
  readonly runtimeReadOnlyRoot: boolean
  /** Cores a pod of the runtime `kubernetes` requests where its service sets no limit; 0: none. */
  readonly runtimeCpuRequest: number
  /** Memory in bytes a pod of the runtime `kubernetes` requests where its service sets no limit; 0: none. */
  readonly runtimeMemoryRequestBytes: number
  /** Pod Security Standard of the pods of the runtime `kubernetes`. */
  readonly runtimePodSecurity: (typeof POD_SECURITIES)[number]
  /** User ids for programs, one for each namespace; undefined: they run as the user of the server. */
  readonly runtimeUids: UserIdRange | undefined
  /** Longest pause before a program that ended is started again. */
  readonly restartDelayMaxMs: number
  /** What of the disk of the data folder stays free of uploads and builds; 0: nothing has to. */
  readonly minFreeDiskBytes: number
  /** Name of the network of servers this one links in. */
  readonly network: string
  /** Servers to link with: `mx://host:port` or `mxs://host:port` of their RPC proxies. */
  readonly networkNodes: readonly string[]
  /** What all servers of the network know; empty: everybody may link. */
  readonly networkToken: string
  /** Id in the network; empty: it is kept in the data folder, or made at every start. */
  readonly serverId: string
  /** `file`, `memory`, or the key itself; empty: there is none. */
  readonly configSecretKey: string
  /** Empty: there is none. */
  readonly configSecretKeyPrevious: string
  /** Of the account `admin`, made at the first start; empty: a random one. */
  readonly adminPassword: string
  /** Whether no account `admin` is made. */
  readonly disableAdmin: boolean
  /** PEM of the key that tokens are signed with; empty: pairs are made, and kept in the store. */
  readonly authPrivateKey: string
  /** `name=host:port[;weight],...` each. */
  readonly backends: readonly string[]
  /** Names or files, in chain order, after the default plugins. */
  readonly plugins: readonly string[]
  /** Configuration file; empty: `mx.yaml` in the working folder, if there is one. */
  readonly config: string
  readonly listener: 'uws' | 'node'
  /** Where HTTP/2 is served. */
  readonly http2: 'tls' | 'cleartext' | 'off'
  /** Where the listener `node` serves beside `address`; undefined: nowhere. */
  readonly http2Address: Address | undefined
  readonly workers: number | 'auto'
  /** Whether the processes that serve can be replaced while they do. */
  readonly hotRestart: boolean
  readonly balance: string
  /** Failures in a row after which a node is ejected; 0: never. */
  readonly ejectionFailures: number
  /** Whether responses 502, 503 and 504 of services are such failures. */
  readonly ejectionByStatus: boolean
  readonly trustedProxies: readonly string[]
  readonly trustedProxiesHeader: (typeof FORWARDING_HEADERS)[number]
  readonly trustedProxiesOptional: boolean
  /** Services that receive paths with `%2F`; a name without a dot is inside the namespace. */
  readonly encodedSlashServices: readonly string[]
  readonly corsOrigins: readonly string[]
  /** Whose pages may send requests and open WebSockets, besides those of the same host. */
  readonly webOrigins: 'any' | readonly string[]
  /** Whose rules requests must keep: `none`, or the address of the RPC proxy of a platform, `mx://host:port`. */
  readonly auth: string
  /** Account by which a gateway reads those rules; empty: there is none. */
  readonly authId: string
  readonly authSecret: string
  /** Whether access tokens go to backends that are proxied. */
  readonly forwardToken: boolean
  /** Whether such backends are told who calls. */
  readonly forwardAccount: boolean
  /** Names requests may be for, besides this machine as such. */
  readonly hosts: 'any' | readonly string[]
  /** Where nodes may be that only a caller of `/rpc` names. */
  readonly rpcAddressAllow: readonly string[]
  /** Where services may register nodes, besides the address that they connect from. */
  readonly registerAllow: readonly string[]
  /** Where the server may connect for anyone but an operator: to fetch repositories. */
  readonly egressAllow: readonly string[]
  readonly maxBodyBytes: number
  readonly maxMessageBytes: number
  readonly maxClientWebSockets: number | 'auto'
  /** Of request bytes that wait in a process. */
  readonly maxBufferedBytes: number | 'auto'
  /** Of answers that clients have not taken yet, of a process. */
  readonly maxUnreadBytes: number | 'auto'
  readonly maxConnections: number | 'auto'
  readonly connectTimeoutMs: number
  readonly keepAliveMs: number
  readonly maxConnectionAgeMs: number
  readonly clientKeepAliveMs: number
  readonly replyTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly requestTimeoutMs: number
  /** Between the moment the process is not ready any more and that in which its port is closed. */
  readonly drainDelayMs: number
  readonly drainTimeoutMs: number
  /** Whether HTTPS is served, by certificates of files or of ACME. */
  readonly enableTls: boolean
  readonly enableAcme: boolean
  /** Names that get certificates, lower case. */
  readonly acmeHosts: readonly string[]
  /** URL that says whether other names may; empty: they may not. */
  readonly acmeAsk: string
  readonly acmeDirectory: string
  /** Empty: none is given. */
  readonly acmeEmail: string
  /** Where challenges are answered. */
  readonly acmeAddress: Address
  /** Empty: the authorities of Node.js. */
  readonly acmeCaFile: string
  /** Empty: there is no external account. */
  readonly acmeEabKid: string
  readonly acmeEabKey: string
  /** Files, or `self-signed` alone. */
  readonly tlsCertFiles: readonly string[]
  /** As many as `tlsCertFiles`, in the same order. */
  readonly tlsKeyFiles: readonly string[]
  /** File; empty: clients are asked for no certificate. */
  readonly tlsClientCa: string
  readonly tlsClientAuth: 'required' | 'optional'
  /** `on`: standard output, `off`: none, else a file. */
  readonly accessLog: string
  /** Address ranges of the clients that are told where the time went. */
  readonly serverTiming: 'any' | readonly string[]
  /** Address ranges of the clients whose traces are gone on with. */
  readonly tracingTrust: 'any' | readonly string[]
  readonly logLevel: LogLevel
}

/** What is started. */
export type Command = 'api' | 'server'

/** From most to least severe. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** One row of {@link SETTINGS}: flag, environment variable, `mx.yaml` key, help and documentation of a setting. */
export interface Setting<T> {
  /** Flag and `mx.yaml` key: words joined by `_`. The variable is `MX_` and the same in capitals. */
  readonly name: string
  /** `list`: may be given several times. `switch`: the flag needs no value. */
  readonly kind: 'text' | 'list' | 'switch'
  /** What a value looks like, for help. */
  readonly form: string
  readonly description: string
  /** As it would be written; for lists, the parts joined by their separator. Empty: none. */
  readonly default: string
  /** What the empty default means, for help. */
  readonly unset?: string
  /** What parts a list in one text: an environment variable always, a flag where `splitFlag`. @default ',' */
  readonly separator?: string
  /** Whether one flag may hold several values. */
  readonly splitFlag?: boolean
  /** Another variable it is read from, after the others. */
  readonly variable?: string
  /** The one command that has it; undefined: both. */
  readonly only?: Command
  /** What differs for `mx server`. */
  readonly inServer?: Partial<Pick<Setting<T>, 'description' | 'default' | 'unset'>>
  /** Where else than in `mx.yaml` it is set, if it is no key there: the key to use, or why there is none. */
  readonly notInFile?: string
  /** Whether a change in `mx.yaml` takes effect without a restart. */
  readonly live: boolean
  /**
   * The checked value. `text` and `switch`: of the only element.
   *
   * @throws {RangeError} saying what it must be and what it got.
   */
  readonly parse: (values: readonly string[]) => T
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/** The handler table of the specification, and the default handler. */
const HANDLERS = ['meta', 'api', 'rpc', 'proxy', 'event', 'web'] as const
const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[]
/** As the adapter that keeps records in a file has it. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const
const SYNCS = ['os', 'always'] as const
const SINKS = ['broker', 'events', 'both'] as const
const RUNTIMES = ['process', 'kubernetes', 'none'] as const
const POD_SECURITIES = ['restricted', 'baseline'] as const

/** Every setting, in the order of help and documentation. */
export const SETTINGS: { readonly [K in keyof Settings]: Setting<Settings[K]> } = {
  profile: {
    name: 'profile',
    kind: 'text',
    form: 'name',
    description: `What the server is made of where nothing else is said: ${PROFILE_NAMES.join(', ')}`,
    default: 'local',
    only: 'server',
    live: false,
    parse: one(parseOneOf(PROFILE_NAMES)),
  },
  dataDir: {
    name: 'data_dir',
    kind: 'text',
    form: 'folder',
    description:
      'Where certificates of ACME lie that are kept in files; one gateway at a time has it',
    default: '~/.mx/api',
    inServer: {
      description: 'Where state lies that is kept in files; one server at a time has it',
      default: '~/.mx/server',
    },
    live: false,
    parse: one(parseNonEmpty('a folder')),
  },
  address: {
    name: 'address',
    kind: 'text',
    form: 'host:port',
    description:
      'Address to listen on; ":8080" is every IPv4 and IPv6 address, "0.0.0.0:8080" every IPv4 address; port 0 any free port',
    default: '127.0.0.1:8080',
    live: false,
    parse: one(parseAddress),
  },
  proxyAddress: {
    name: 'proxy_address',
    kind: 'text',
    form: 'host:port',
    description: 'Where the RPC proxy listens, for services, clients and the command line',
    default: '127.0.0.1:8081',
    only: 'server',
    live: false,
    parse: one(parseAddress),
  },
  webAddress: {
    name: 'web_address',
    kind: 'text',
    form: 'host:port',
    description: 'Where the dashboard listens',
    default: '127.0.0.1:8082',
    only: 'server',
    live: false,
    parse: one(parseAddress),
  },
  webSessionIdleTimeoutMs: {
    name: 'web_session_idle_timeout',
    kind: 'text',
    form: 'duration',
    description: 'Time after which a session of the dashboard ends that no open page uses',
    default: SESSION_IDLE_TIMEOUT,
    only: 'server',
    live: false,
    parse: one(parseSessionTime),
  },
  webSessionMaxAgeMs: {
    name: 'web_session_max_age',
    kind: 'text',
    form: 'duration',
    description: 'Time after the login at which a session of the dashboard ends in any case',
    default: SESSION_MAX_AGE,
    only: 'server',
    live: false,
    parse: one(parseSessionTime),
  },
  adminAddress: {
    name: 'admin_address',
    kind: 'text',
    form: 'host:port or none',
    description: 'Where /livez, /readyz and /metrics are served, for operators alone',
    default: '127.0.0.1:8089',
    live: false,
    parse: one(parseAddressOrNone),
  },
  advertiseAddress: {
    name: 'advertise_address',
    kind: 'text',
    form: 'host or host:port',
    description:
      'Where other machines reach the RPC proxy; registered for the services of this server',
    default: '',
    unset: 'the address it listens at, or the first of this machine',
    only: 'server',
    live: false,
    parse: one(parseAdvertised),
  },
  handler: {
    name: 'handler',
    kind: 'text',
    form: 'name',
    description:
      'How requests are forwarded: rpc, api (as calls), proxy, web (proxy and WebSockets), event (as messages), or meta: as the endpoint declares, else rpc',
    default: 'meta',
    only: 'api',
    live: false,
    parse: one(parseOneOf(HANDLERS)),
  },
  resolver: {
    name: 'resolver',
    kind: 'text',
    form: 'name',
    description:
      'How a request line names a service: proxy, rpc, event, endpoint, host, path, vpath, grpc, or subdomain:domain=example.com',
    default: '',
    unset: "the handler's own",
    only: 'api',
    live: false,
    parse: one((text) => text.trim()),
  },
  namespace: {
    name: 'namespace',
    kind: 'text',
    form: 'prefix',
    description: 'Prefix of service names, joined by a dot; a single blank disables it',
    default: 'go.mx.api',
    inServer: { default: ' ', unset: 'none' },
    live: true,
    parse: one(parseNamespace),
  },
  backends: {
    name: 'backend',
    kind: 'list',
    form: 'name=host:port[;weight],...',
    description:
      'A service and its nodes; a name without a dot lies inside the namespace; a node is host:port or http:// for HTTP, https:// for TLS, mx:// or mxs:// for services of the SDK, grpc:// or grpcs:// for gRPC',
    default: '',
    separator: ' ',
    notInFile: 'list backends under "services"',
    live: true,
    parse: parseBackends,
  },
  registry: {
    name: 'registry',
    kind: 'text',
    form: 'name or url',
    description:
      'Where services are looked up that neither --backend nor mx.yaml lists: static (nowhere), mx://host:port, mxs://host:port, consul://host:port, consuls://host:port, kubernetes, or memory',
    default: 'static',
    inServer: {
      description:
        'Where services are registered and found: memory (its own), consul://host:port, consuls://host:port or kubernetes',
    },
    live: false,
    parse: one(parseRegistryText),
  },
  store: {
    name: 'store',
    kind: 'text',
    form: 'name or url',
    description: `Where certificates of ACME are kept, for one gateway or for several: ${STORE_FORMS}`,
    default: 'lmdb',
    inServer: { description: `Where records are kept: ${STORE_FORMS}` },
    live: false,
    parse: one(parseStoreText),
  },
  storeSync: {
    name: 'store_sync',
    kind: 'text',
    form: 'os or always',
    description:
      'What records and events written to a file have reached when they are acknowledged: os survives the end of the process, always (the disk) that of the machine',
    default: 'os',
    only: 'server',
    live: false,
    parse: one(parseOneOf(SYNCS)),
  },
  maxStoreBytes: {
    name: 'max_store',
    kind: 'text',
    form: 'size or auto',
    description:
      'Most bytes of records in a memory or PostgreSQL store; writes beyond it are 507. auto is 256 MiB in memory, and no limit in PostgreSQL',
    default: 'auto',
    only: 'server',
    live: false,
    parse: one(parseLimitOrAuto),
  },
  broker: {
    name: 'broker',
    kind: 'text',
    form: 'name or url',
    description: `What carries messages, those of the handler event too: ${BROKER_FORMS}`,
    default: 'memory',
    live: false,
    parse: one(parseBrokerText),
  },
  events: {
    name: 'events',
    kind: 'text',
    form: 'name or url',
    description: `Where events are kept: ${EVENTS_FORMS}`,
    default: 'lmdb',
    only: 'server',
    live: false,
    parse: one(parseEventsText),
  },
  eventsReplicas: {
    name: 'events_replicas',
    kind: 'text',
    form: 'number',
    description: 'Servers of a cluster of NATS that keep each event, for topics made from now on',
    default: '1',
    only: 'server',
    live: false,
    parse: one(parseCount(1, 5)),
  },
  eventsTopics: {
    name: 'events_topics',
    kind: 'text',
    form: 'number',
    description:
      'Topics of events a namespace may have, those of dead letters included; 429 for more',
    default: '10000',
    only: 'server',
    live: false,
    parse: one(parseCount(1, 100_000)),
  },
  eventsMaxAgeMs: {
    name: 'events_max_age',
    kind: 'text',
    form: 'duration',
    description: 'How long topics keep their events, or none: for ever',
    default: '7d',
    only: 'server',
    live: false,
    parse: one(parseMaxAge),
  },
  eventsMaxBytes: {
    name: 'events_max_bytes',
    kind: 'text',
    form: 'size',
    description: 'How much of its events a topic keeps, or none: all',
    default: '1gb',
    only: 'server',
    live: false,
    parse: one(parseMaxBytes),
  },
  eventsRetention: {
    name: 'events_retention',
    kind: 'list',
    form: 'topic=duration[;size],...',
    description:
      'How long, and how much, some topics keep instead, in all namespaces, such as audit=none;none',
    default: '',
    splitFlag: true,
    only: 'server',
    live: false,
    parse: parseRetentions,
  },
  eventSink: {
    name: 'event_sink',
    kind: 'text',
    form: 'broker, events or both',
    description:
      'Where requests go that endpoints of the handler event take: to the broker, or into events, where they are kept',
    default: 'broker',
    only: 'server',
    live: false,
    parse: one(parseOneOf(SINKS)),
  },
  runtime: {
    name: 'runtime',
    kind: 'text',
    form: 'process, kubernetes or none',
    description:
      'What runs services: process (programs of this machine), kubernetes (images, in its namespace), or none',
    default: 'process',
    only: 'server',
    live: false,
    parse: one(parseOneOf(RUNTIMES)),
  },
  runtimeNamespaces: {
    name: 'runtime_namespaces',
    kind: 'list',
    form: 'name,...',
    description:
      'Namespaces whose administrators may run programs with the process runtime, besides administrators of mx',
    default: '',
    splitFlag: true,
    only: 'server',
    live: false,
    parse: parseNamespaceNames,
  },
  runtimeReadOnlyRoot: {
    name: 'runtime_read_only_root',
    kind: 'switch',
    form: 'true or false',
    description:
      'Whether the root file system of pods that the runtime kubernetes creates is read-only, with a writable /tmp',
    default: 'true',
    only: 'server',
    live: false,
    parse: one(parseSwitch),
  },
  runtimeCpuRequest: {
    name: 'runtime_cpu_request',
    kind: 'text',
    form: 'cores',
    description:
      'CPU request of pods that the runtime kubernetes creates, where the service sets no limit; or none',
    default: '0.1',
    only: 'server',
    live: false,
    parse: one(parseCores),
  },
  runtimeMemoryRequestBytes: {
    name: 'runtime_memory_request',
    kind: 'text',
    form: 'size',
    description:
      'Memory request of pods that the runtime kubernetes creates, where the service sets no limit; or none',
    default: '64mb',
    only: 'server',
    live: false,
    parse: one(parseRoom),
  },
  runtimePodSecurity: {
    name: 'runtime_pod_security',
    kind: 'text',
    form: 'restricted or baseline',
    description:
      'Pod Security Standard of pods that the runtime kubernetes creates: restricted, or baseline for images that run as root',
    default: 'restricted',
    only: 'server',
    live: false,
    parse: one(parseOneOf(POD_SECURITIES)),
  },
  runtimeUids: {
    name: 'runtime_uids',
    kind: 'text',
    form: 'first-last',
    description:
      'User ids of programs, one for each namespace, where the server may change users; or none: programs run as its own user',
    default: '200000-209999',
    only: 'server',
    live: false,
    parse: one(parseUserIds),
  },
  restartDelayMaxMs: {
    name: 'restart_delay_max',
    kind: 'text',
    form: 'duration',
    description:
      'Longest pause before the process runtime starts a program again that ended; the first is 1 s, then doubled',
    default: '1m',
    only: 'server',
    live: false,
    parse: one(parseTimeout),
  },
  minFreeDiskBytes: {
    name: 'min_free_disk',
    kind: 'text',
    form: 'size',
    description:
      'Room on the disk of the data folder that sources and builds of services leave, else they are refused with 507; or none: they may fill it',
    default: '256mb',
    only: 'server',
    live: false,
    parse: one(parseRoom),
  },
  ...QUOTA_SETTINGS,
  network: {
    name: 'network',
    kind: 'text',
    form: 'name',
    description: 'Name of the network of servers; those of another one are refused',
    default: 'mx',
    only: 'server',
    live: false,
    parse: one(parseNetworkName),
  },
  networkNodes: {
    name: 'network_nodes',
    kind: 'list',
    form: 'host:port,...',
    description:
      'RPC proxies of servers to link with: services that only one of them has are called there; mxs://host:port for TLS',
    default: '',
    splitFlag: true,
    only: 'server',
    live: false,
    parse: parseServerAddresses,
  },
  networkToken: {
    name: 'network_token',
    kind: 'text',
    form: 'secret',
    description:
      'What all servers of the network know; none may link that does not; at least 16 characters',
    default: '',
    unset: 'none may link, but in profile test',
    only: 'server',
    notInFile: 'a secret stays out of it: set MX_NETWORK_TOKEN',
    live: false,
    parse: one(parseNetworkToken),
  },
  serverId: {
    name: 'server_id',
    kind: 'text',
    form: 'id',
    description: 'What this server is called in the network of servers',
    default: '',
    unset: 'kept in the data folder, else made at every start',
    only: 'server',
    live: false,
    parse: one(parseServerId),
  },
  configSecretKey: {
    name: 'config_secret_key',
    kind: 'text',
    form: 'key',
    description:
      'Encrypts private keys of ACME in the store: 32 bytes in base64, the same for all gateways of a store',
    default: '',
    unset: 'they are kept as they are',
    inServer: {
      description:
        'Encrypts the secrets of the configuration, and private keys: 32 bytes in base64, or file (one of this server, made where there is none), or memory (forgotten at the end)',
      unset: 'there can be no secrets',
    },
    notInFile: 'a key stays out of it: set MX_CONFIG_SECRET_KEY',
    live: false,
    parse: one(parseKeySource),
  },
  configSecretKeyPrevious: {
    name: 'config_secret_key_previous',
    kind: 'text',
    form: 'key',
    description: 'The key until now: what it has encrypted can still be read',
    default: '',
    inServer: {
      description:
        'The key until now: what it has encrypted is encrypted with config_secret_key at the start',
    },
    notInFile: 'a key stays out of it: set MX_CONFIG_SECRET_KEY_PREVIOUS',
    live: false,
    parse: one(parsePreviousKey),
  },
  adminPassword: {
    name: 'admin_password',
    kind: 'text',
    form: 'password',
    description: 'Password of the account admin, created at the first start; at least 8 characters',
    default: '',
    unset:
      'a random one, shown once on a terminal, and in ~/.mx/admin_password; mx in profile test',
    only: 'server',
    notInFile: 'a password stays out of it: set MX_ADMIN_PASSWORD',
    live: false,
    parse: one(parsePassword),
  },
  disableAdmin: {
    name: 'disable_admin',
    kind: 'switch',
    form: 'true or false',
    description: 'Make no account admin at the first start (also MX_AUTH_DISABLE_ADMIN)',
    default: 'false',
    variable: 'MX_AUTH_DISABLE_ADMIN',
    only: 'server',
    live: false,
    parse: one(parseSwitch),
  },
  authPrivateKey: {
    name: 'auth_private_key',
    kind: 'text',
    form: 'key',
    description:
      'Signs access tokens: an Ed25519 key, PKCS #8 in PEM, which may be in base64; servers of one store need the same',
    default: '',
    unset: 'keys are made and changed by the server, and kept in the store',
    only: 'server',
    notInFile: 'a key stays out of it: set MX_AUTH_PRIVATE_KEY',
    live: false,
    parse: one(parsePrivateKey),
  },
  config: {
    name: 'config',
    kind: 'text',
    form: 'file',
    description: 'Configuration file, read again whenever it changes',
    default: '',
    unset: 'mx.yaml in the working folder, if present',
    notInFile: 'it is this file',
    live: false,
    parse: one((text) => text),
  },
  plugins: {
    name: 'plugin',
    kind: 'list',
    form: 'name or file',
    description:
      'A plugin to run after the default ones: a built-in name, ./file.js, ./file.ts or a package',
    default: '',
    notInFile: 'list plugins under "plugins"',
    live: true,
    parse: (texts) => texts.map(parseNonEmpty('the name or the file of a plugin')),
  },
  listener: {
    name: 'listener',
    kind: 'text',
    form: 'name',
    description: 'HTTP server: uws (fast) or node (strictest parser)',
    default: 'uws',
    live: false,
    parse: one(parseOneOf(['uws', 'node'] as const)),
  },
  http2: {
    name: 'http2',
    kind: 'text',
    form: 'tls, cleartext or off',
    description:
      'Where the listener node serves HTTP/2: over TLS, cleartext also without TLS to clients that begin with it (gRPC)',
    default: 'tls',
    live: false,
    parse: one(parseOneOf(['tls', 'cleartext', 'off'] as const)),
  },
  http2Address: {
    name: 'http2_address',
    kind: 'text',
    form: 'host:port or none',
    description: 'Where the listener node serves besides, for HTTP/2 beside the listener uws',
    default: 'none',
    live: false,
    parse: one(parseAddressOrNone),
  },
  workers: {
    name: 'workers',
    kind: 'text',
    form: 'number',
    description: 'Processes sharing the port; auto is one per processor',
    default: '1',
    only: 'api',
    live: false,
    parse: one(parseCountOrAuto(1, 256)),
  },
  hotRestart: {
    name: 'hot_restart',
    kind: 'switch',
    form: 'true or false',
    description:
      'Serve from a process below this one, which SIGUSR2 replaces by a new one without losing a request; always so with several workers',
    default: 'false',
    only: 'api',
    live: false,
    parse: one(parseSwitch),
  },
  balance: {
    name: 'balance',
    kind: 'text',
    form: 'policy',
    description:
      'How a node is chosen: round-robin, random, p2c, least-conn, hash:ip, hash:path, hash:header:<name>, hash:cookie:<name>; "sticky:" before it binds clients by a cookie',
    default: 'round-robin',
    live: true,
    parse: one(parseBalancePolicy),
  },
  ejectionFailures: {
    name: 'ejection_failures',
    kind: 'text',
    form: 'number',
    description:
      'Incomplete, malformed or late responses in a row after which a node is left out for 10 s and longer, a refused connection at once; 0: never',
    default: '5',
    live: false,
    parse: one(parseCount(0, 1_000_000)),
  },
  ejectionByStatus: {
    name: 'ejection_by_status',
    kind: 'switch',
    form: 'true or false',
    description: 'Count responses 502, 503 and 504 of services as such failures, too',
    default: 'false',
    live: false,
    parse: one(parseSwitch),
  },
  trustedProxies: {
    name: 'trusted_proxies',
    kind: 'list',
    form: 'network,...',
    description:
      'Proxies in front whose X-Forwarded-* fields are believed, such as 10.0.0.0/8; gateways in front of a server, too',
    default: '',
    splitFlag: true,
    live: true,
    parse: parseNetworks,
  },
  trustedProxiesHeader: {
    name: 'trusted_proxies_header',
    kind: 'text',
    form: 'name',
    description:
      'Header in which the trusted proxies write the address of their client, x-forwarded-for or forwarded; the other is ignored',
    default: 'x-forwarded-for',
    live: true,
    parse: one(parseOneOf(FORWARDING_HEADERS)),
  },
  trustedProxiesOptional: {
    name: 'trusted_proxies_optional',
    kind: 'switch',
    form: 'true or false',
    description:
      'Accept requests of trusted proxies without a valid client address in that header; else they are 400',
    default: 'false',
    live: true,
    parse: one(parseSwitch),
  },
  encodedSlashServices: {
    name: 'encoded_slash_services',
    kind: 'list',
    form: 'service,...',
    description:
      'Proxied services that receive paths with %2F, which are 400 otherwise; with the resolver host all of them do',
    default: '',
    splitFlag: true,
    live: false,
    parse: parseServiceNames,
  },
  corsOrigins: {
    name: 'cors_origins',
    kind: 'list',
    form: 'origin,...',
    description:
      'Web origins that may call from a browser, such as https://app.example.com; * for any',
    default: '',
    splitFlag: true,
    live: true,
    parse: parseOrigins,
  },
  webOrigins: {
    name: 'web_origins',
    kind: 'list',
    form: 'origin,...',
    description:
      'Web pages that may send requests and open WebSockets, else 403: any, same-host, or origins besides that such as https://app.example.com; those of cors_origins may, too',
    default: 'any',
    inServer: { default: 'same-host' },
    splitFlag: true,
    live: true,
    parse: parseWebOrigins,
  },
  auth: {
    name: 'auth',
    kind: 'text',
    form: 'none or url',
    description:
      'Whose rules of access requests must keep: none (all are let in), or those of a platform, mx://host:port or mxs://host:port of its RPC proxy',
    default: 'none',
    only: 'api',
    live: false,
    parse: one(parseAuthSource),
  },
  authId: {
    name: 'auth_id',
    kind: 'text',
    form: 'id',
    description:
      'Account by which the gateway reads rules and registry (mx://) of a platform; MX_AUTH_SECRET proves it',
    default: '',
    unset: 'none',
    only: 'api',
    live: false,
    parse: one((text) => text.trim()),
  },
  authSecret: {
    name: 'auth_secret',
    kind: 'text',
    form: 'secret',
    description: 'Secret of that account',
    default: '',
    unset: 'none',
    only: 'api',
    notInFile: 'a secret stays out of it: set MX_AUTH_SECRET',
    live: false,
    parse: one((text) => text.trim()),
  },
  forwardToken: {
    name: 'forward_token',
    kind: 'switch',
    form: 'true or false',
    description:
      'Whether access tokens go to backends that are proxied, too; services of the platform get them always',
    default: 'false',
    live: true,
    parse: one(parseSwitch),
  },
  forwardAccount: {
    name: 'forward_account',
    kind: 'switch',
    form: 'true or false',
    description: 'Whether backends that are proxied are told who calls, in the field Mx-Account',
    default: 'false',
    live: true,
    parse: one(parseSwitch),
  },
  hosts: {
    name: 'hosts',
    kind: 'list',
    form: 'name,...',
    description:
      'Hosts that requests may be for, else 403: any, local (localhost, what ends in .localhost, IP addresses, the name in address), or names besides that such as app.example.com or *.example.com',
    default: 'any',
    splitFlag: true,
    live: true,
    parse: parseHosts,
  },
  rpcAddressAllow: {
    name: 'rpc_address_allow',
    kind: 'list',
    form: 'network,...',
    description: 'Where an explicit call (/rpc) may name an address that no registry knows',
    default: 'loopback',
    splitFlag: true,
    live: true,
    parse: parseAllowList,
  },
  registerAllow: {
    name: 'register_allow',
    kind: 'list',
    form: 'network,...',
    description:
      'Where services may register nodes besides the address they connect from, such as 10.0.0.0/8, private or loopback; operators may register any',
    default: '',
    only: 'server',
    splitFlag: true,
    live: true,
    parse: parseAllowList,
  },
  egressAllow: {
    name: 'egress_allow',
    kind: 'list',
    form: 'network,...',
    description:
      'Where repositories may be fetched from: public, private, loopback, link-local, or networks such as 10.0.0.0/8',
    default: 'public,private',
    only: 'server',
    splitFlag: true,
    live: true,
    parse: parseAllowList,
  },
  maxBodyBytes: {
    name: 'max_body',
    kind: 'text',
    form: 'size',
    description: 'Longest request body, then 413',
    default: '100mb',
    live: true,
    parse: one(parseLimit),
  },
  maxMessageBytes: {
    name: 'max_message',
    kind: 'text',
    form: 'size',
    description: 'Longest WebSocket message, then the connection is closed with 1009',
    default: '1mb',
    live: true,
    parse: one(parseLimit),
  },
  maxClientWebSockets: {
    name: 'max_client_websockets',
    kind: 'text',
    form: 'number',
    description:
      'WebSockets of one client address (IPv6: /64) at a time, per worker, then 503; of listener uws. auto allows as many as can take a quarter of the memory with unfinished messages',
    default: 'auto',
    live: false,
    parse: one(parseCountOrAuto(1, 10_000_000)),
  },
  maxBufferedBytes: {
    name: 'max_buffered',
    kind: 'text',
    form: 'size',
    description:
      'Memory limit of buffered request bytes, per worker: bodies and WebSocket messages that wait for slow backends or for their end. Beyond it the largest request is ended: 413 or 503, 1013 for WebSockets. auto is a sixteenth of the memory, from 32 to 128 MiB',
    default: 'auto',
    live: false,
    parse: one(parseLimitOrAuto),
  },
  maxUnreadBytes: {
    name: 'max_unread',
    kind: 'text',
    form: 'size',
    description:
      'Memory limit of responses that wait for slow clients, per worker: beyond it long responses are 503, and beyond half of it the gRPC streams that have waited longest are reset. auto is a sixteenth of the memory, from 32 to 256 MiB',
    default: 'auto',
    live: false,
    parse: one(parseLimitOrAuto),
  },
  maxConnections: {
    name: 'max_connections',
    kind: 'text',
    form: 'number',
    description:
      'Client connections at a time, per worker; auto leaves half of the open-file limit for backends',
    default: 'auto',
    live: false,
    parse: one(parseCountOrAuto(1, 10_000_000)),
  },
  connectTimeoutMs: {
    name: 'connect_timeout',
    kind: 'text',
    form: 'duration',
    description:
      'Longest wait for a connection to a backend, then the next node, or 504 (calls: 502)',
    default: '5s',
    live: true,
    parse: one(parseTimeout),
  },
  keepAliveMs: {
    name: 'keep_alive',
    kind: 'text',
    form: 'duration',
    description:
      'Idle time after which an HTTP/1.1 connection to a backend is closed; less where the backend announces or shows a shorter limit',
    default: '4s',
    live: true,
    parse: one(parseTimeout),
  },
  maxConnectionAgeMs: {
    name: 'max_connection_age',
    kind: 'text',
    form: 'duration or none',
    description:
      'Age at which a connection to a backend takes no more requests, so that a changed address of its name is used; or none',
    default: '5m',
    live: true,
    parse: one(parseLongest),
  },
  clientKeepAliveMs: {
    name: 'client_keep_alive',
    kind: 'text',
    form: 'duration',
    description:
      'Idle time after which a connection of a client is closed; listener node only, longer than that of a load balancer in front',
    default: '75s',
    live: false,
    parse: one(parseTimeout),
  },
  replyTimeoutMs: {
    name: 'reply_timeout',
    kind: 'text',
    form: 'duration',
    description:
      'Longest wait for the head of a reply or for a hook that answers later, then 504, and for the answer to a call, then 408',
    default: '60s',
    live: true,
    parse: one(parseTimeout),
  },
  idleTimeoutMs: {
    name: 'idle_timeout',
    kind: 'text',
    form: 'duration',
    description: 'Longest silence in the middle of a body, then it is cut off',
    default: '60s',
    live: true,
    parse: one(parseTimeout),
  },
  requestTimeoutMs: {
    name: 'request_timeout',
    kind: 'text',
    form: 'duration or none',
    description:
      'Longest time of a request as a whole, uploads, streams and downloads included, then 504, or it is cut off; or none',
    default: 'none',
    live: true,
    parse: one(parseLongest),
  },
  drainDelayMs: {
    name: 'drain_delay',
    kind: 'text',
    form: 'duration',
    description:
      'How long new requests are still taken after SIGTERM, while /readyz says no: for load balancers to notice',
    default: '0s',
    live: true,
    parse: one(parseDelay),
  },
  drainTimeoutMs: {
    name: 'drain_timeout',
    kind: 'text',
    form: 'duration',
    description: 'How long running requests may go on after SIGTERM',
    default: '10s',
    live: true,
    parse: one(parseTimeout),
  },
  enableTls: {
    name: 'enable_tls',
    kind: 'switch',
    form: 'true or false',
    description:
      'Serve HTTPS with the certificates below, read again on SIGHUP and when they change',
    default: 'false',
    live: false,
    parse: one(parseSwitch),
  },
  enableAcme: {
    name: 'enable_acme',
    kind: 'switch',
    form: 'true or false',
    description:
      'Serve HTTPS with certificates that are ordered and renewed by ACME, and agree to the terms of its directory; goes before tls_cert_file',
    default: 'false',
    live: false,
    parse: one(parseSwitch),
  },
  acmeHosts: {
    name: 'acme_hosts',
    kind: 'list',
    form: 'name,...',
    description: 'Hosts to have certificates for; the first is the default',
    default: '',
    unset: 'any, at most 10 new names an hour, unless acme_ask says which',
    splitFlag: true,
    live: false,
    parse: parseAcmeHosts,
  },
  acmeAsk: {
    name: 'acme_ask',
    kind: 'text',
    form: 'url',
    description:
      'Says whether a host that is not listed may have a certificate: asked with ?domain=<name>, 200 is yes',
    default: '',
    unset: 'acme_hosts decides',
    live: false,
    parse: one(parsePermissionUrl),
  },
  acmeDirectory: {
    name: 'acme_directory',
    kind: 'text',
    form: 'url',
    description: 'ACME server',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    live: false,
    parse: one(parseDirectoryUrl),
  },
  acmeEmail: {
    name: 'acme_email',
    kind: 'text',
    form: 'address',
    description: 'Where the ACME server may write to about certificates',
    default: '',
    unset: 'nowhere',
    live: false,
    parse: one(parseEmail),
  },
  acmeAddress: {
    name: 'acme_address',
    kind: 'text',
    form: 'host:port',
    description:
      'Where challenges of ACME are answered, and plain HTTP is sent on to HTTPS; the ACME server asks at port 80',
    default: ':80',
    live: false,
    parse: one(parseAddress),
  },
  acmeCaFile: {
    name: 'acme_ca_file',
    kind: 'text',
    form: 'file',
    description: "Authority of a private ACME server's own certificate, PEM",
    default: '',
    unset: 'those of Node.js',
    live: false,
    parse: one((text) => text.trim()),
  },
  acmeEabKid: {
    name: 'acme_eab_kid',
    kind: 'text',
    form: 'id',
    description: 'Key id of an external account, where the ACME server wants one',
    default: '',
    unset: 'none',
    live: false,
    parse: one((text) => text.trim()),
  },
  acmeEabKey: {
    name: 'acme_eab_key',
    kind: 'text',
    form: 'key',
    description: 'Its HMAC key, base64url',
    default: '',
    unset: 'none',
    notInFile: 'a key stays out of it: set MX_ACME_EAB_KEY',
    live: false,
    parse: one((text) => text.trim()),
  },
  tlsCertFiles: {
    name: 'tls_cert_file',
    kind: 'list',
    form: 'file,...',
    description:
      'Certificates with their chains, PEM, chosen by server name, the first is the default; or self-signed: one for development, made in ~/.mx',
    default: '',
    splitFlag: true,
    live: false,
    parse: parseCertFiles,
  },
  tlsKeyFiles: {
    name: 'tls_key_file',
    kind: 'list',
    form: 'file,...',
    description: 'Their private keys, PEM, in the same order',
    default: '',
    splitFlag: true,
    live: false,
    parse: (texts) => texts.map(parseNonEmpty('a file')),
  },
  tlsClientCa: {
    name: 'tls_client_ca',
    kind: 'text',
    form: 'file',
    description:
      'Authorities, PEM, one of which must have issued the certificates of clients; with the listener node, read again as those above',
    default: '',
    live: false,
    parse: one(String),
  },
  tlsClientAuth: {
    name: 'tls_client_auth',
    kind: 'text',
    form: 'required or optional',
    description: 'Whether clients without a certificate are let in',
    default: 'required',
    live: false,
    parse: one(parseOneOf(['required', 'optional'] as const)),
  },
  accessLog: {
    name: 'access_log',
    kind: 'text',
    form: 'on, off or file',
    description: 'One JSON line per request, on standard output or in a file',
    default: 'on',
    live: true,
    parse: one(parseAccessLog),
  },
  serverTiming: {
    name: 'server_timing',
    kind: 'list',
    form: 'off, any or network,...',
    description:
      'Clients told how long gateway and backend took, in Server-Timing; such as loopback',
    default: 'off',
    splitFlag: true,
    live: true,
    parse: parseClientRanges,
  },
  tracingTrust: {
    name: 'tracing_trust',
    kind: 'list',
    form: 'off, any or network,...',
    description:
      'Clients whose trace is gone on with, where OTEL_EXPORTER_OTLP_ENDPOINT exports traces; others begin one',
    default: 'loopback,private,unix',
    splitFlag: true,
    live: true,
    parse: parseClientRanges,
  },
  logLevel: {
    name: 'log_level',
    kind: 'text',
    form: 'level',
    description: `Least severe lines of the log: ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    live: true,
    parse: one(parseOneOf(LOG_LEVELS)),
  },
}

function one<T>(parse: (text: string) => T): (values: readonly string[]) => T {
  return (values) => parse(values[0] ?? '')
}
