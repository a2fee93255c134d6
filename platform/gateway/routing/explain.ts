import { type Chain, type Plugin, runSteps, type Stage } from '../../../core/chain.ts'
import type { Authorizer } from '../../../core/contracts/auth.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { HeaderList } from '../../../core/http/headers.ts'
import { RequestValidator } from '../../../core/listener/request-validator.ts'
import { POLICY } from '../../../core/registry/service.ts'
import { toRoute } from '../../../core/route.ts'
import type { Caller } from '../../../core/rpc/caller.ts'
import type { Pool } from '../../../core/upstream/pool/pool.ts'
import type { FindUpstreamOptions, UpstreamOptions } from '../../../core/upstream/upstream.ts'
import type { Disposer } from '../../../lib/async/disposer.ts'
import { settlesWithin, withTimeout } from '../../../lib/async/timeout.ts'
import { TestExchange, type TestRequest } from '../../../sdk/testing.ts'
import { listDnsServices } from '../../config/configured-services.ts'
import { assignRoles } from '../../config/listen/main-listener.ts'
import { describeInForce } from '../../config/services/describe.ts'
import { limitSettings, readRegistrySettings } from '../../config/services/registry-settings.ts'
import type { Configuration } from '../../config/types.ts'
import { planPlugins } from '../../plugins/plan.ts'
import type { Log } from '../../process/log.ts'
import type { EventSinks } from '../handlers.ts'
import { openDns } from '../open-dns.ts'
import { openPipeline } from '../pipeline.ts'
import { createUpstreams } from '../upstreams.ts'
import type { DomainRegistries } from './domains.ts'
import { areEncodedSlashesServed } from './encoded-slashes.ts'
import { toWhy } from './explain-why.ts'
import type { ExplainedRuling, Explanation } from './explanation.ts'
import { findPluginSources, type PluginSource } from './plugin-sources.ts'

export interface ExplainedRequest {
  /** Case-insensitive. */
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names are case-insensitive and include `Host` and `Upgrade`. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  /** The client uses TLS. @default false */
  readonly secure?: boolean
}

export interface ExplainOptions {
  readonly configuration: Configuration
  readonly authorizer: Authorizer | undefined
  /** Registry of a running gateway. @default by the settings */
  readonly registry?: Registry
  readonly domains?: DomainRegistries
  readonly log: Log
}

/** Timeout of the registry. */
const REGISTRY_MS = 3000
/** Overall timeout: rules and keys may have to be fetched. */
const RESPONSE_TIMEOUT_MS = 10_000
const TOPIC = 'topic'
const FROM_ENDPOINT: PluginSource = { scope: 'endpoint', source: 'registry' }

/** Record of one request. */
interface Trace {
  readonly passed: Stage[]
  readonly rulings: ExplainedRuling[]
  /** The request is sent to a node, or to {@link TOPIC}. */
  readonly reach: (where: string) => void
}

interface Explainer {
  readonly configuration: Configuration
  readonly registry: Registry
  readonly chain: Chain
  readonly sources: ReadonlyMap<Plugin, PluginSource>
  /** Sets the trace of the request in progress. */
  readonly follow: (trace: Trace) => void
}

/** {@link openExplainer} for one request. */
export async function explain(
  request: ExplainedRequest,
  options: ExplainOptions,
  closing: Disposer,
): Promise<Explanation> {
  return (await openExplainer(options, closing))(request)
}

/**
 * Opens dry runs of requests through the chain of a configuration, one at a time, with the code that serves requests. Nothing is sent,
 * published or logged.
 *
 * @returns explains a request. Throws {@link TypeError} for a malformed header; {@link GatewayError} 504 without a decision within 10 s.
 * @throws {SettingsError} for an invalid configuration.
 */
export async function openExplainer(
  { configuration, authorizer, registry: openRegistry, domains, log }: ExplainOptions,
  closing: Disposer,
): Promise<(request: ExplainedRequest) => Promise<Explanation>> {
  let trace: Trace = { passed: [], rulings: [], reach: () => {} }
  const dns = openDns(log, () => {})
  closing.add(dns.close)
  const services = await dns.use(listDnsServices(configuration))
  const { registry, routing, buildChain } = await openPipeline(
    {
      configuration,
      registry: openRegistry,
      domains,
      events: toSinks(() => trace.reach(TOPIC)),
      authorizer: authorizer && recordRulings(authorizer, (ruling) => trace.rulings.push(ruling)),
      upstream: createDryUpstreams(configuration, log, () => trace.reach('')),
      services,
      log,
    },
    closing,
  )
  if (routing.ready !== undefined) await settlesWithin(routing.ready, REGISTRY_MS)
  const plan = planPlugins(configuration)
  const chain = await buildChain(configuration, plan)
  closing.add(() => chain.close(() => {}))
  const explainer = {
    ...{ configuration, registry },
    chain: recordStages(chain, (stage) => trace.passed.push(stage)),
    sources: findPluginSources(chain, plan, configuration),
    follow: (next: Trace) => {
      trace = next
    },
  }
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const result = last.then(() => run(request, explainer))
    last = result.catch(() => {})
    return result
  }
}

async function run(
  explained: ExplainedRequest,
  { configuration, registry, chain, sources, follow }: Explainer,
): Promise<Explanation> {
  const { request, malformed } = toTestRequest(explained, areEncodedSlashesServed(configuration))
  let reach: (where: string) => void = () => {}
  const reached = new Promise<string>((resolve) => {
    reach = resolve
  })
  const passed: Stage[] = []
  const rulings: ExplainedRuling[] = []
  follow({ passed, rulings, reach })
  const x = new DryExchange(request, () => reach(''))
  x.listener = assignRoles(configuration.config.listen)?.main.name ?? ''
  x.begin(
    chain,
    () => {},
    () => {},
  )
  const walk = async (): Promise<void> => {
    try {
      if (malformed !== undefined) return x.fail(malformed)
      await runSteps(x.chain.steps, x)
    } catch (thrown) {
      x.giveUp(GatewayError.from(thrown, x.route?.service))
    }
  }
  void walk()
  const { body = '' } = request
  if (body.length > 0) x.sendBody(body, true)
  const forwarded = reached.then((where) => where || x.node)
  const responded = x.done.then(() => undefined)
  const sentTo = await withTimeout(Promise.race([responded, forwarded]), RESPONSE_TIMEOUT_MS).catch(
    (cause) => {
      const detail = `no decision within ${RESPONSE_TIMEOUT_MS} ms`
      throw new GatewayError(GATEWAY_ID, 504, detail, { cause })
    },
  )
  const { route, upstream, namespace, session, error } = x
  const isMissing = error?.code === 404 && error.message.startsWith('service not found')
  const explanation = {
    stages: passed.map((stage, i) => {
      const { plugin, hook } = stage
      // An endpoint may add a plugin of the same name.
      const earlier = passed.slice(0, i).filter((other) => other.plugin === plugin)
      const repeated = earlier.filter((other) => other.hook === hook).length
      const applied = x.chain.plugins.filter(({ name }) => name === plugin)[repeated]
      const declared = upstream?.endpoints.get(route?.endpoint ?? '')?.metadata ?? {}
      const policy = `${POLICY}${plugin}` in declared ? FROM_ENDPOINT : undefined
      return { ...stage, ...(applied && (sources.get(applied) ?? policy)) }
    }),
    route: route && toRoute(route.service, route.endpoint, route.handler, route.variables),
    routeName: route?.rule?.name,
    target: x.target,
    handler: route && x.handler!.name,
    namespace,
    account: session?.account.id ?? '',
    rulings,
    nodes: upstream?.nodes.map(({ id, host, port, protocol, draining }) => ({
      ...{ id, protocol, draining },
      address: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    })),
    settings:
      upstream &&
      describeInForce(
        configuration,
        upstream.name,
        route?.rule?.name,
        limitSettings(
          readRegistrySettings(upstream.settings),
          configuration.settings,
          upstream.domain,
        ),
      ),
    endpoints: [...(upstream?.endpoints.keys() ?? [])],
    sentTo,
    answer: sentTo === undefined ? { status: x.status, body: x.body, error } : undefined,
    known: isMissing ? await listNames(registry) : [],
  }
  return { ...explanation, why: explanation.answer === undefined ? '' : toWhy(explanation) }
}

/** Validates the request like a listener, and removes the hop-by-hop headers. */
function toTestRequest(
  { method, path, headers, body = '', secure = false }: ExplainedRequest,
  encodedSlashes: boolean,
): {
  readonly request: TestRequest
  readonly malformed: GatewayError | undefined
} {
  const list = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name.toLowerCase(), value] as const),
  )
  const has = (header: string) => list.some(([name]) => name === header)
  const validator = new RequestValidator(false, () => encodedSlashes)
  if (!has('host')) validator.add('host', 'localhost')
  if (body !== '' && !has('content-length') && !has('transfer-encoding'))
    validator.add('content-length', String(Buffer.byteLength(body)))
  // A WebSocket request may omit `Connection`.
  if (has('upgrade') && !has('connection')) validator.add('connection', 'upgrade')
  for (const [name, value] of list) validator.add(name, value)
  const verb = method.toUpperCase()
  const [target = '', ...query] = path.split('?')
  const malformed = validator.validate(verb, target, query.join('?'))
  const request = {
    ...{ method: verb, path, headers: toRecord(validator.headers), host: validator.host, secure },
    upgrade: validator.websocket && verb === 'GET',
    ...(body !== '' && { body }),
  }
  return { request, malformed }
}

function toRecord(headers: HeaderList): Record<string, string[]> {
  const names = new Set(headers.flat.filter((_, i) => i % 2 === 0))
  return Object.fromEntries([...names].map((name) => [name, headers.getAll(name)]))
}

/** The chain with steps that report their stage, without hooks of the response. */
function recordStages(chain: Chain, onStage: (stage: Stage) => void): Chain {
  const steps = chain.steps.map((step, i) => (x: Exchange) => {
    const stage = chain.stages.steps[i]!
    if (stage.hook !== 'scope') onStage(stage)
    return step(x)
  })
  const scopes = [...chain.scopes].map(
    ([name, scope]) => [name, recordStages(scope, onStage)] as const,
  )
  const record = (scope: Chain | undefined) => scope && recordStages(scope, onStage)
  return {
    ...chain,
    ...{ steps, onError: [], onReply: [], onDone: [], scopes: new Map(scopes) },
    ofEndpoint: (service, endpoint) => record(chain.ofEndpoint(service, endpoint)),
    ofConsumer: (key) => record(chain.ofConsumer(key)),
  }
}

function recordRulings(
  authorizer: Authorizer,
  onRuling: (ruling: ExplainedRuling) => void,
): Authorizer {
  return {
    ...authorizer,
    async judge(access) {
      const ruling = await authorizer.judge(access)
      const { type, name, endpoint } = access.resource
      onRuling({
        namespace: access.namespace,
        resource: `${type}:${name}:${endpoint}`,
        ...ruling,
      })
      return ruling
    },
  }
}

/** Upstreams that send nothing to nodes. */
function createDryUpstreams(
  configuration: Configuration,
  log: Log,
  reach: () => void,
): FindUpstreamOptions {
  const upstreams = createUpstreams(configuration, {
    maxConnections: 1,
    findCaller: undefined,
    log,
  })
  const caller: Caller = { pending: 0, call: reach, drain: () => {}, close: () => {} }
  return (service, domain) => {
    const options = upstreams.of(service, domain)
    const createPool = (address: Parameters<UpstreamOptions['createPool']>[0]): Pool =>
      Object.assign(options.createPool(address), { dispatch: reach, cancel: () => {} })
    // Health checks would connect to the nodes.
    const policies = options.policies && { ...options.policies, health: undefined }
    return { ...options, policies, createPool, findCaller: () => caller }
  }
}

function toSinks(reach: () => void): EventSinks {
  const publish = (): Promise<never> => {
    reach()
    return new Promise(() => {})
  }
  return { broker: { publish, maxBodyBytes: Number.POSITIVE_INFINITY } }
}

async function listNames(registry: Registry): Promise<readonly string[]> {
  try {
    const services = await withTimeout(Promise.resolve(registry.listServices()), REGISTRY_MS)
    return [...new Set(services.map(({ name }) => name))].sort()
  } catch {
    // The outage is already reported by the request or the log.
    return []
  }
}

/** Exchange whose WebSockets are not forwarded. */
class DryExchange extends TestExchange {
  error: GatewayError | undefined = undefined
  readonly #reach: () => void

  constructor(request: TestRequest, reach: () => void) {
    super(request)
    this.#reach = reach
  }

  override tunnel(): Promise<void> {
    this.#reach()
    return new Promise(() => {})
  }

  /** Without the content of a file. */
  override start(...head: Parameters<TestExchange['start']>): void {
    super.start(...head)
    this.end()
  }

  override fail(error: GatewayError): void {
    this.error ??= error
    super.fail(error)
  }
}
