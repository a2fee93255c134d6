import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Broker } from '../../core/contracts/broker.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { checkService } from '../../core/registry/service.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import { findUnknownEnv } from '../../lib/config/unknown-env.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import { type Credentials, findCredentials, toPlatform } from '../auth/credentials.ts'
import type { Subscriber } from '../broker/message.ts'
import { createServiceBroker, type ServiceBroker } from '../broker/service-broker.ts'
import type { SubscriberOptions } from '../broker/subscriptions.ts'
import type { LocalService } from '../client/call-options.ts'
import { Client } from '../client/client.ts'
import { InProcessCaller } from '../client/in-process.ts'
import { readProxyAddress } from '../client/proxy-address.ts'
import { findInternals, internalsOf } from '../internal/internals.ts'
import { addLocalNode, addLocalService } from '../internal/local-services.ts'
import type { ServiceLog } from '../log/service-log.ts'
import { type OpenedRegistry, openRegistry, toRegistrySource } from '../registry/open-registry.ts'
import { toRuntimeName } from '../runtime/runtime-name.ts'
import type { Schema } from '../schema/schema.ts'
import { runProcess } from '../signals.ts'
import { type OpenedTracer, openTracer } from '../tracing/open-tracer.ts'
import { createDispatcher, type Dispatcher } from './dispatch.ts'
import { checkEndpoints, type Endpoints } from './endpoint.ts'
import { checkPortOptions, type OpenPort, openPort, type PortOptions } from './open-port.ts'
import { type Registration, register } from './registration.ts'
import { toServiceEntry } from './registry-entry.ts'

/** Options of {@link Service}. */
export interface ServiceOptions extends PortOptions {
  /**
   * Full name: letters, digits and inner dots, dashes or underscores. The runtime overrides the name of a program's
   * first service with `MX_SERVICE_NAME` (`mx run --name`).
   */
  readonly name: string
  /** @default 'latest' */
  readonly version?: string
  /** Metadata for the registry. */
  readonly metadata?: Readonly<Record<string, string>>
  /**
   * Registry, or its address: `mx://host:port` and others (docs/registry.md).
   * @default `MX_REGISTRY`, else the registry behind the proxy, else none: callers then need the address of the service
   */
  readonly registry?: Registry | string
  /**
   * RPC proxy of a platform for calls to other services, and for registration without a registry: `host:port`, or
   * `mxs://host:port` over TLS. @default `MX_PROXY` without a registry, else none
   */
  readonly proxy?: string
  /**
   * Broker for {@link Service.subscribe} and `createBroker`, or its address: `nats://host:port` and others
   * (docs/broker.md). @default `MX_BROKER`, else the broker of the platform if there is a registry or a proxy
   */
  readonly broker?: Broker | string
  /**
   * Account of the service, which also determines its namespace. The service logs in, registers and calls other
   * services with its token, and enforces the access rules of the platform.
   * @default if the platform address is known (from registry, proxy, `MX_REGISTRY` or `MX_PROXY`), `MX_AUTH_ID` and
   * `MX_AUTH_SECRET` in `MX_NAMESPACE`, then, for a platform on this machine, `~/.mx/service_credentials` of a server
   * of the same user, without access rules; else none
   */
  readonly auth?: Credentials
  /**
   * Authorizes calls from outside this process.
   * @default the platform's rules if there is an account, else every call is allowed
   */
  readonly authorizer?: Authorizer
  /** @default JSON lines on standard error */
  readonly log?: ServiceLog
}

/** Options of {@link Service.run}. */
export interface RunOptions {
  /** Handle SIGTERM and SIGINT, and exit after a failed start. @default true */
  readonly signals?: boolean
}

/** Options of {@link Service.stop}. */
export interface StopOptions {
  /** Milliseconds until calls in flight are aborted. @default 10000 */
  readonly timeoutMs?: number
}

const OPTIONS: KnownOptions<ServiceOptions> = {
  name: true,
  version: true,
  metadata: true,
  address: true,
  registry: true,
  proxy: true,
  broker: true,
  auth: true,
  authorizer: true,
  log: true,
  limits: true,
  listener: true,
  origins: true,
  host: true,
}
/** Environment variables for services, without the prefix `MX_`. */
const VARIABLES = [
  'SERVICE_ADDRESS',
  'SERVICE_LOG_LEVEL',
  'REGISTRY',
  'PROXY',
  'BROKER',
  'AUTH_ID',
  'AUTH_SECRET',
  'NAMESPACE',
  'INSTANCE',
  'SERVICE_NAME',
]
/** Prefix of environment variables for services. `mx server` and `mx api` validate `MX_SERVER_` and `MX_API_`. */
const VARIABLE_PREFIX = /^MX_(?!SERVER_|API_)/
const DRAIN_MS = 10_000
const LATEST = 'latest'

/**
 * A service: endpoints that clients call by name.
 *
 * ```ts
 * const helloworld = new Service({ name: 'helloworld', registry }).handle('Helloworld', {
 *   call: endpoint({
 *     request: Type.Object({ name: Type.String() }),
 *     response: Type.Object({ message: Type.String() }),
 *     handle: ({ name }) => ({ message: `Hello ${name}` }),
 *   }),
 * })
 * await helloworld.run()
 * ```
 *
 * Serves both transports of the call protocol on one port (docs/protocol.md), under its own name
 * and under `<namespace>.<name>` with any namespace.
 */
export class Service<H extends object = Record<never, never>> {
  /** Declared handlers; exists only for the types of callers. */
  declare readonly '~handlers': H
  readonly name: string
  readonly version: string
  readonly #options: ServiceOptions
  readonly #dispatcher: Dispatcher
  readonly #local: LocalService
  /** Caller for clients in this process. */
  readonly #caller: InProcessCaller
  /** Caller for registry users in this process. Accepts calls as long as the port does. */
  readonly #nodeCaller: InProcessCaller
  readonly #broker: ServiceBroker
  readonly #registry: Registry | string | undefined
  readonly #proxy: string | undefined
  #opened: OpenedRegistry | undefined = undefined
  #client: Client | undefined = undefined
  #starting: Promise<string> | undefined = undefined
  #stopping: Promise<void> | undefined = undefined
  #port: OpenPort | undefined = undefined
  #registration: Registration | undefined = undefined
  /** Hides the service from clients in this process. */
  #unlist: () => void = () => {}
  #unlistNode: () => void = () => {}
  #closeAuthorizer: () => void = () => {}
  #traced: OpenedTracer | undefined = undefined

  /**
   * @throws {TypeError} for an invalid name, version or address, including the addresses of proxy, registry and broker.
   */
  constructor(options: ServiceOptions) {
    rejectUnknownOptions('new Service', options, OPTIONS)
    // A missing name is reported in the same way as an invalid one.
    const { version = LATEST, broker, authorizer, log } = options
    checkService({ name: options.name ?? '', version, metadata: {}, endpoints: [], nodes: [] })
    const name = options.host === undefined ? toRuntimeName(options.name) : options.name
    this.name = name
    this.version = version
    this.#options = options
    checkPortOptions(name, options)
    this.#proxy = readProxyAddress(options.proxy, options.registry !== undefined)
    this.#registry = toRegistrySource(options.registry) ?? this.#proxy
    this.#dispatcher = createDispatcher({
      service: name,
      authorizer,
      ...(log !== undefined && { log }),
    })
    this.#caller = new InProcessCaller(this.#dispatcher)
    this.#nodeCaller = new InProcessCaller(this.#dispatcher)
    this.#local = { name, caller: this.#caller }
    this.#broker = createServiceBroker({
      configured: broker,
      hasPlatform: this.#registry !== undefined,
      client: () => this.client,
      service: name,
      log: this.#dispatcher.log,
      traces: this.#dispatcher.traces,
    })
    Object.assign(internalsOf(this), {
      local: this.#local,
      broker: this.#broker.access,
      traces: this.#dispatcher.traces,
    })
  }

  /** Registered address, `host:port`; empty until the service has started. */
  get address(): string {
    return this.#port?.address ?? ''
  }

  /** JSON log with the service name on each line. */
  get log(): ServiceLog {
    return this.#dispatcher.log
  }

  /**
   * Client for other services, found in the same registry or through the proxy. Pass on the context of the current call
   * with `{ context: ctx }`.
   */
  get client(): Client {
    const registry = this.#registry
    const proxy = this.#proxy
    this.#client ??= new Client({
      ...(registry !== undefined && { registry }),
      ...(proxy !== undefined && { proxy }),
      ...(this.#options.auth !== undefined && { auth: this.#options.auth }),
      services: [this],
      traces: this.#dispatcher.traces,
    })
    return this.#client
  }

  /**
   * Adds a handler: `{ call }` of the handler `Helloworld` becomes the endpoint `Helloworld.Call`.
   *
   * @throws {TypeError} for an invalid name or schema, a duplicate endpoint, the handler `Debug`, or a service that has
   * already started.
   */
  handle<N extends string, E extends Endpoints>(
    handler: N,
    endpoints: E,
  ): Service<H & Readonly<Record<N, E>>> {
    this.#mustNotRun('handle')
    checkEndpoints(handler, endpoints)
    this.#dispatcher.handle(handler, endpoints)
    return this as unknown as Service<H & Readonly<Record<N, E>>>
  }

  /**
   * Subscribes to a topic when the service starts. Every node receives every message; with a `queue`, only one of its
   * members does.
   *
   * @throws {TypeError} without a broker, or if the service has already started.
   */
  subscribe<S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    options: SubscriberOptions<S> = {},
  ): this {
    this.#mustNotRun('subscribe')
    this.#broker.subscribe(topic, subscriber, options)
    return this
  }

  /**
   * Runs the service as the main task of the process: it shuts down gracefully on SIGTERM and SIGINT, with status 0. If
   * it cannot start, the reason is logged and the process exits with status 1.
   *
   * @returns the registered address, `host:port`.
   */
  async run(options: RunOptions = {}): Promise<string> {
    rejectUnknownOptions('run', options, { signals: true } satisfies KnownOptions<RunOptions>)
    const { signals = true } = options
    if (!signals) return this.start()
    return runProcess({ start: () => this.start(), stop: () => this.stop(), log: this.log })
  }

  /**
   * Listens, subscribes and registers. Must be called only once.
   *
   * @returns the registered address, `host:port`.
   * @throws {Error} with a one-line message if the port is in use, or registry or broker deny access; everything is
   * closed then. If the registry is unavailable, the service is registered later, and the outage is logged.
   */
  start(): Promise<string> {
    this.#mustNotRun('start')
    this.#starting = this.#begin()
    return this.#starting
  }

  /**
   * Marks the node as draining, completes the calls in flight, deregisters, and closes every connection. Calls in
   * flight complete unless they take longer than `timeoutMs`. Waits up to 5 s for an unavailable registry.
   */
  stop({ timeoutMs = DRAIN_MS }: StopOptions = {}): Promise<void> {
    this.#stopping ??= this.#end(timeoutMs)
    return this.#stopping
  }

  async #begin(): Promise<string> {
    const { log } = this
    const problems = findUnknownEnv(process.env, VARIABLES, VARIABLE_PREFIX)
    for (const problem of problems) log.warn({}, problem)
    try {
      await this.#openTracer()
      await this.#openAuthorizer()
      this.#port = await openPort(this.#options, this.#dispatcher)
      const { address, server } = this.#port
      await this.#broker.begin()
      const registry = this.#openRegistry()
      await this.#opened?.loaded
      if (registry !== undefined) {
        const { name, version } = this
        const metadata = this.#options.metadata ?? {}
        const endpoints = this.#dispatcher.describe()
        const details = { address, server, registry: registry.name, broker: this.#broker.name() }
        const instance = process.env['MX_INSTANCE'] ?? ''
        const entry = toServiceEntry({ name, version, metadata, endpoints, ...details, instance })
        this.#unlistNode = addLocalNode(entry.nodes[0]!.id, this.#nodeCaller)
        this.#registration = await register({ registry, entry, log })
        this.#unlist = addLocalService(registry, this.#local)
      }
      log.info({ address, server, registry: this.#nameRegistry() }, 'service ready')
      return address
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  async #end(timeoutMs: number): Promise<void> {
    // Stops a starting service once its start has settled.
    await this.#starting?.catch(() => {})
    this.#unlist()
    await this.#registration?.drain()
    this.#nodeCaller.drain()
    const idle = Promise.all([this.#port?.drain(), this.#broker.end(), this.#dispatcher.idle()])
    if (!(await settlesWithin(idle, timeoutMs))) {
      const calls = this.#dispatcher.active
      this.log.warn(
        { calls, timeoutMs },
        'calls exceeded the shutdown timeout, closing connections',
      )
    }
    await this.#registration?.end()
    await this.#broker.close()
    this.#closeAuthorizer()
    this.#client?.close()
    await this.#close()
    if (this.#starting !== undefined) this.log.info({}, 'service stopped')
  }

  async #close(): Promise<void> {
    this.#unlistNode()
    this.#nodeCaller.close()
    this.#caller.close()
    await this.#broker.close()
    await this.#port?.close()
    this.#dispatcher.close()
    this.#closeAuthorizer()
    await this.#opened?.close()
    await this.#traced?.close()
  }

  /** Built-in services continue traces but start none, because their watches never end. */
  async #openTracer(): Promise<void> {
    const { name } = this
    const version = this.version === LATEST ? undefined : this.version
    const instance = process.env['MX_INSTANCE']
    this.#traced = await openTracer({ name, version, instance }, this.log)
    const { traces } = this.#dispatcher
    traces.tracer = this.#traced?.tracer
    traces.begins = this.#options.host === undefined
  }

  /** Requires explicit credentials, because implicit ones may belong to another platform. */
  async #openAuthorizer(): Promise<void> {
    if (this.#options.authorizer !== undefined) return
    const credentials = this.#findCredentials()
    if (credentials?.isImplicit !== false)
      return this.log.debug({}, 'no account configured, callers are not authorized here')
    const { createDeferredAuthorizer } = await import('../../core/auth/open-authorizer.ts')
    const { createAuthSource } = await import('../auth/auth-source.ts')
    const opened = createDeferredAuthorizer(this.log)
    opened.setSource(createAuthSource(this.client, credentials.namespace))
    this.#dispatcher.guard(opened.authorizer, credentials.namespace)
    this.#closeAuthorizer = opened.authorizer.close
  }

  #openRegistry(): Registry | undefined {
    if (typeof this.#registry !== 'string') return this.#registry
    const tokens = findInternals(this.client)?.tokens
    const domain = this.#findCredentials()?.namespace
    this.#opened = openRegistry(this.#registry, { tokens, domain })
    return this.#opened.registry
  }

  #findCredentials() {
    return findCredentials(this.#options.auth, this.#proxy ?? toPlatform(this.#registry))
  }

  /** Registry address for logs, without its token. */
  #nameRegistry(): string {
    if (typeof this.#registry === 'string') return this.#registry.trim().replace(/[^/]*@/, '')
    return this.#registry?.name ?? 'none'
  }

  #mustNotRun(action: string): void {
    if (this.#starting !== undefined || this.#stopping !== undefined)
      throw new TypeError(`${action}: the service ${this.name} has already started`)
  }
}
