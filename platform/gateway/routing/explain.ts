import { setImmediate as nextTick } from 'node:timers/promises'
import { type Chain, type Plugin, runSteps, type Stage } from '../../../core/chain.ts'
import type { Authorizer } from '../../../core/contracts/auth.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { DEFAULT_DOMAIN, POLICY } from '../../../core/registry/service.ts'
import { tooLarge } from '../../../core/request/incoming-request.ts'
import { toRoute } from '../../../core/route.ts'
import type { Disposer } from '../../../lib/async/disposer.ts'
import { settlesWithin, withTimeout } from '../../../lib/async/timeout.ts'
import { listDnsServices } from '../../config/configured-services.ts'
import { describeEffective } from '../../config/services/describe.ts'
import { limitSettings, readRegistrySettings } from '../../config/services/registry-settings.ts'
import type { Configuration } from '../../config/types.ts'
import { planPlugins } from '../../plugins/plan.ts'
import type { Log } from '../../process/log.ts'
import { openDns } from '../open-dns.ts'
import { openPipeline } from '../pipeline.ts'
import type { DomainRegistries } from './domains.ts'
import {
  createDrySinks,
  createDryUpstreams,
  DryExchange,
  recordRulings,
  recordStages,
} from './dry-run.ts'
import { acceptsEncodedSlashes } from './encoded-slashes.ts'
import { explainResponse } from './explain-why.ts'
import { toConnection } from './explained-connection.ts'
import { type ExplainedRequest, toTestRequest } from './explained-request.ts'
import type { ExplainedRuling, Explanation } from './explanation.ts'
import { findPluginSources, type PluginSource } from './plugin-sources.ts'

export interface ExplainOptions {
  readonly configuration: Configuration
  readonly authorizer: Authorizer | undefined
  /** Registry of a running gateway. @default chosen by the settings */
  readonly registry?: Registry
  readonly domains?: DomainRegistries
  readonly log: Log
}

/** Timeout of the registry. */
const REGISTRY_MS = 3000
/** Overall timeout, which includes fetching rules and keys. */
const RESPONSE_TIMEOUT_MS = 10_000
const TOPIC = 'topic'
const FROM_ENDPOINT: PluginSource = { scope: 'endpoint', source: 'registry' }

/** Callbacks for a single request. */
interface Trace {
  readonly onStage: (stage: Stage, x: Exchange) => void
  readonly rulings: ExplainedRuling[]
  /** Called when the request is sent to a node or to {@link TOPIC}. */
  readonly onReached: (destination: string) => void
}

interface Explainer {
  readonly configuration: Configuration
  readonly registry: Registry
  readonly chain: Chain
  readonly sources: ReadonlyMap<Plugin, PluginSource>
  /** Sets the trace for the request in progress. */
  readonly setTrace: (trace: Trace) => void
}

/** Runs {@link openExplainer} for a single request. */
export async function explain(
  request: ExplainedRequest,
  options: ExplainOptions,
  closing: Disposer,
): Promise<Explanation> {
  return (await openExplainer(options, closing))(request)
}

/**
 * Opens dry runs of requests through the chain of a configuration, one at a time, with the code
 * that also serves requests. Nothing is sent, published or logged.
 *
 * @returns a function that explains a request. It throws {@link TypeError} for a malformed header,
 * and {@link GatewayError} 504 if there is no decision within 10 s.
 * @throws {SettingsError} for an invalid configuration.
 */
export async function openExplainer(
  { configuration, authorizer, registry: openRegistry, domains, log }: ExplainOptions,
  closing: Disposer,
): Promise<(request: ExplainedRequest) => Promise<Explanation>> {
  let trace: Trace = { onStage: () => {}, rulings: [], onReached: () => {} }
  const dns = openDns(log, () => {})
  closing.add(dns.close)
  const services = await dns.use(listDnsServices(configuration))
  const { registry, routing, buildChain } = await openPipeline(
    {
      configuration,
      registry: openRegistry,
      domains,
      events: createDrySinks(() => trace.onReached(TOPIC)),
      authorizer: authorizer && recordRulings(authorizer, (ruling) => trace.rulings.push(ruling)),
      upstream: createDryUpstreams(configuration, log, () => trace.onReached('')),
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
    chain: recordStages(chain, (stage, x) => trace.onStage(stage, x)),
    sources: findPluginSources(chain, plan, configuration),
    setTrace: (next: Trace) => {
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
  { configuration, registry, chain, sources, setTrace }: Explainer,
): Promise<Explanation> {
  const connection = toConnection(configuration, explained)
  const { request, malformed } = toTestRequest(
    explained,
    connection,
    acceptsEncodedSlashes(configuration),
  )
  let onReached: (destination: string) => void = () => {}
  const reached = new Promise<string>((resolve) => {
    onReached = resolve
  })
  const passedStages: Stage[] = []
  const rulings: ExplainedRuling[] = []
  let host: string | undefined
  const onStage = (stage: Stage, { headers }: Exchange): void => {
    passedStages.push(stage)
    // Forwarding removes the header.
    host = headers.get('host')
  }
  setTrace({ onStage, rulings, onReached })
  const x = new DryExchange(request, () => onReached(''))
  x.listener = connection.listener
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
      x.abortWith(GatewayError.from(thrown, x.route?.service))
    }
  }
  void walk()
  const { body = '' } = request
  // Sent asynchronously, like data from a socket: it arrives after all synchronous steps.
  const isBodySent = nextTick().then(() => body.length > 0 && x.sendBody(body, true))
  const forwarded = reached.then((destination) => destination || x.node)
  const responded = x.done.then(() => undefined)
  const forwardedTo = await withTimeout(
    Promise.race([responded, forwarded]),
    RESPONSE_TIMEOUT_MS,
  ).catch((cause) => {
    const detail = `no decision within ${RESPONSE_TIMEOUT_MS} ms`
    throw new GatewayError(GATEWAY_ID, 504, detail, { cause })
  })
  await isBodySent
  // The length of a chunked body is only known after forwarding.
  const isTooLong = forwardedTo !== undefined && x.bytesIn > x.bodyLimit
  if (isTooLong) x.abortWith(tooLarge(x.bodyLimit))
  const sentTo = isTooLong ? undefined : forwardedTo
  const { route, upstream, namespace, session, error } = x
  const isMissing = error?.code === 404 && error.message.startsWith('service not found')
  const explanation = {
    stages: passedStages.map((stage, i) => {
      const { plugin, hook } = stage
      // An endpoint may add a plugin with the same name.
      const earlier = passedStages.slice(0, i).filter((other) => other.plugin === plugin)
      const repeated = earlier.filter((other) => other.hook === hook).length
      const applied = x.chain.plugins.filter(
        (other) => other.name === plugin && other[hook as keyof Plugin] !== undefined,
      )[repeated]
      const declared = upstream?.endpoints.get(route?.endpoint ?? '')?.metadata ?? {}
      const policy = `${POLICY}${plugin}` in declared ? FROM_ENDPOINT : undefined
      return { ...stage, ...(applied && (sources.get(applied) ?? policy)) }
    }),
    route: route && toRoute(route.service, route.endpoint, route.handler, route.variables),
    routeName: route?.rule?.name,
    target: x.target,
    host: host ?? findNodeHost(x) ?? x.host,
    handler: x.handler?.name,
    namespace,
    account: session?.account.id ?? '',
    rulings,
    nodes: upstream?.nodes.map(({ id, host, port, protocol, draining }) => ({
      ...{ id, protocol, draining },
      address: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    })),
    settings:
      upstream &&
      describeEffective(
        configuration,
        // Services in the file belong to the default domain.
        upstream.domain === DEFAULT_DOMAIN ? upstream.name : '',
        route?.rule?.name,
        limitSettings(
          readRegistrySettings(upstream.settings, upstream.domain),
          configuration.settings,
          upstream.domain,
        ),
        x.handler !== undefined && !x.proxied,
      ),
    endpoints: [...(upstream?.endpoints.keys() ?? [])],
    sentTo,
    answer: sentTo === undefined ? { status: x.status, body: x.body, error } : undefined,
    known: isMissing ? await listNames(registry) : [],
  }
  return {
    ...explanation,
    why: explanation.answer === undefined ? '' : explainResponse(explanation),
  }
}

/**
 * Returns the `Host` header according to the setting of the service, or undefined if it is sent as
 * received.
 */
function findNodeHost({ node, upstream }: Exchange): string | undefined {
  return upstream?.nodes.find(({ id }) => id === node)?.hostHeader
}

async function listNames(registry: Registry): Promise<readonly string[]> {
  try {
    const services = await withTimeout(Promise.resolve(registry.listServices()), REGISTRY_MS)
    return [...new Set(services.map(({ name }) => name))].sort()
  } catch {
    // The outage is already reported in the request or in the log.
    return []
  }
}
