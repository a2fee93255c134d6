import { type Chain, runSteps, type Stage } from '../../../core/chain.ts'
import type { Authorizer } from '../../../core/contracts/auth.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { HeaderList } from '../../../core/http/headers.ts'
import { RequestValidator } from '../../../core/listener/request-validator.ts'
import { toRoute } from '../../../core/route.ts'
import type { Caller } from '../../../core/rpc/caller.ts'
import type { Pool } from '../../../core/upstream/pool/pool.ts'
import type { UpstreamOptions } from '../../../core/upstream/upstream.ts'
import type { Disposer } from '../../../lib/async/disposer.ts'
import { settlesWithin, withTimeout } from '../../../lib/async/timeout.ts'
import { TestExchange, type TestRequest } from '../../../sdk/testing.ts'
import type { Configuration } from '../../config/types.ts'
import { planPlugins } from '../../plugins/plan.ts'
import type { Log } from '../../process/log.ts'
import type { EventSinks } from '../handlers.ts'
import { openPipeline } from '../pipeline.ts'
import { createUpstreams } from '../upstreams.ts'
import type { Domains } from './domains.ts'
import { areEncodedSlashesServed } from './encoded-slashes.ts'
import { toWhy } from './explain-why.ts'
import type { ExplainedRuling, Explanation } from './explanation.ts'

/** The request that is asked about. */
export interface ExplainedRequest {
  /** In whatever case. */
  readonly method: string
  /** Path, and query behind a `?`. */
  readonly path: string
  /** By name, in whatever case; `Host` and `Upgrade` among them. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
}

export interface ExplainOptions {
  readonly configuration: Configuration
  readonly gate: Authorizer | undefined
  /** As of a gateway that runs. @default by the settings */
  readonly registry?: Registry
  readonly domains?: Domains
  readonly log: Log
}

/** What a registry that does not answer costs. */
const REGISTRY_MS = 3000
/** Rules and keys may have to be fetched. */
const ANSWER_MS = 10_000
const TOPIC = 'topic'

/**
 * Leads a request through the chain of a configuration as a gateway would, but for the last yard: nothing is sent, published or
 * logged. What is told was decided by the very code that serves.
 *
 * @throws {SettingsError} for a configuration that no gateway would start with; {@link TypeError} for a field that is malformed;
 *   {@link GatewayError} 504 when nothing is decided in 10 s.
 */
export async function explain(
  asked: ExplainedRequest,
  { configuration, gate, registry: given, domains, log }: ExplainOptions,
  closing: Disposer,
): Promise<Explanation> {
  const { request, malformed } = toTestRequest(
    asked,
    areEncodedSlashesServed(configuration.settings),
  )
  let reach: (where: string) => void = () => {}
  const reached = new Promise<string>((resolve) => {
    reach = resolve
  })
  const rulings: ExplainedRuling[] = []
  const { registry, routing, buildChain } = await openPipeline(
    {
      configuration,
      registry: given,
      domains,
      events: toSinks(() => reach(TOPIC)),
      gate: gate && noteRulings(gate, rulings),
      upstream: createDryUpstreams(configuration, log, () => reach('')),
      log,
    },
    closing,
  )
  if (routing.ready !== undefined) await settlesWithin(routing.ready, REGISTRY_MS)
  const chain = await buildChain(configuration, planPlugins(configuration))
  closing.add(() => chain.close(() => {}))
  const passed: Stage[] = []
  const x = new DryExchange(request, () => reach(''))
  x.begin(
    { ...toTold(chain, passed), onReply: [], onDone: [] },
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
  const sent = reached.then((where) => where || x.node)
  const answered = x.done.then(() => undefined)
  const sentTo = await withTimeout(Promise.race([answered, sent]), ANSWER_MS).catch((cause) => {
    const detail = `nothing is decided within ${ANSWER_MS} ms`
    throw new GatewayError(GATEWAY_ID, 504, detail, { cause })
  })
  const { route, upstream, namespace, session, error } = x
  const isMissing = error?.code === 404 && error.message.startsWith('service not found')
  const explanation = {
    stages: passed,
    route: route && toRoute(route.service, route.endpoint, route.handler, route.variables),
    handler: route && x.handler!.name,
    namespace,
    account: session?.account.id ?? '',
    rulings,
    nodes: upstream?.nodes.map(({ id, host, port, protocol, draining }) => ({
      ...{ id, protocol, draining },
      address: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    })),
    endpoints: [...(upstream?.endpoints.keys() ?? [])],
    sentTo,
    answer: sentTo === undefined ? { status: x.status, body: x.body, error } : undefined,
    known: isMissing ? await listNames(registry) : [],
  }
  return { ...explanation, why: explanation.answer === undefined ? '' : toWhy(explanation) }
}

/** As a listener hands it over: judged, and without the fields that end at the port. */
function toTestRequest(
  { method, path, headers, body = '' }: ExplainedRequest,
  encodedSlashes: boolean,
): {
  readonly request: TestRequest
  readonly malformed: GatewayError | undefined
} {
  const fields = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name.toLowerCase(), value] as const),
  )
  const has = (wanted: string) => fields.some(([name]) => name === wanted)
  const guard = new RequestValidator(false, encodedSlashes)
  if (!has('host')) guard.add('host', 'localhost')
  if (body !== '' && !has('content-length') && !has('transfer-encoding'))
    guard.add('content-length', String(Buffer.byteLength(body)))
  // Who asks for a WebSocket need not name it in Connection, too.
  if (has('upgrade') && !has('connection')) guard.add('connection', 'upgrade')
  for (const [name, value] of fields) guard.add(name, value)
  const verb = method.toUpperCase()
  const [target = '', ...query] = path.split('?')
  const malformed = guard.validate(verb, target, query.join('?'))
  const request = {
    ...{ method: verb, path, headers: toRecord(guard.headers), host: guard.host },
    upgrade: guard.websocket && verb === 'GET',
    ...(body !== '' && { body }),
  }
  return { request, malformed }
}

function toRecord(headers: HeaderList): Record<string, string[]> {
  const names = new Set(headers.flat.filter((_, i) => i % 2 === 0))
  return Object.fromEntries([...names].map((name) => [name, headers.getAll(name)]))
}

/** The steps of a chain, which tell that they are reached. */
function toTold(chain: Chain, passed: Stage[]): Chain {
  const steps = chain.steps.map((step, i) => (x: Exchange) => {
    passed.push(chain.stages.steps[i]!)
    return step(x)
  })
  return { ...chain, steps }
}

function noteRulings(gate: Authorizer, rulings: ExplainedRuling[]): Authorizer {
  return {
    ...gate,
    async judge(access) {
      const ruling = await gate.judge(access)
      const { type, name, endpoint } = access.resource
      rulings.push({
        namespace: access.namespace,
        resource: `${type}:${name}:${endpoint}`,
        ...ruling,
      })
      return ruling
    },
  }
}

/** Nodes as those of a gateway, but that nothing is sent to them. */
function createDryUpstreams(
  configuration: Configuration,
  log: Log,
  reach: () => void,
): (service: string) => UpstreamOptions {
  const upstreams = createUpstreams(configuration, {
    maxConnections: 1,
    findCaller: undefined,
    log,
  })
  const caller: Caller = { pending: 0, call: reach, drain: () => {}, close: () => {} }
  return (service) => {
    const options = upstreams.of(service)
    const createPool = (address: Parameters<UpstreamOptions['createPool']>[0]): Pool =>
      Object.assign(options.createPool(address), { dispatch: reach, cancel: () => {} })
    return { ...options, createPool, findCaller: () => caller }
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
    // That it does not answer is what the request was told, or the log.
    return []
  }
}

/** Its WebSockets are not carried on. */
class DryExchange extends TestExchange {
  /** It was answered with. */
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

  override fail(error: GatewayError): void {
    this.error ??= error
    super.fail(error)
  }
}
