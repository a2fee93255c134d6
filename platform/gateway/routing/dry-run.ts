import type { Chain, Stage } from '../../../core/chain.ts'
import type { Authorizer } from '../../../core/contracts/auth.ts'
import type { RequestQuotas } from '../../../core/contracts/request-quotas.ts'
import type { GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { Caller } from '../../../core/rpc/caller.ts'
import type { Http2Pool } from '../../../core/upstream/http2/pool.ts'
import type { PoolAddress } from '../../../core/upstream/node/pool-address.ts'
import type { Pool } from '../../../core/upstream/pool/pool.ts'
import type { FindUpstreamOptions } from '../../../core/upstream/upstream-options.ts'
import { TestExchange, type TestRequest } from '../../../sdk/testing.ts'
import type { Configuration } from '../../config/types.ts'
import type { Log } from '../../process/log.ts'
import type { EventSinks } from '../handlers.ts'
import { createUpstreams } from '../upstreams.ts'
import type { ExplainedRuling } from './explanation.ts'

/** Returns the chain without response hooks. Its steps report their stage. */
export function recordStages(chain: Chain, onStage: (stage: Stage, x: Exchange) => void): Chain {
  const steps = chain.steps.map((step, i) => (x: Exchange) => {
    const stage = chain.stages.steps[i]!
    if (stage.hook !== 'scope') onStage(stage, x)
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

/** Quotas that are never exhausted and count nothing. */
const DRY_QUOTAS: RequestQuotas = {
  reserve: async ({ requests }) => ({ granted: requests, used: 0, epoch: '', leftMs: 60_000 }),
  release: async () => {},
}

/** Returns an authorizer that reports its decisions and counts no requests. */
export function recordRulings(
  authorizer: Authorizer,
  onRuling: (ruling: ExplainedRuling) => void,
): Authorizer {
  return {
    ...authorizer,
    ...(authorizer.requestQuotas !== undefined && { requestQuotas: DRY_QUOTAS }),
    async decide(access) {
      const ruling = await authorizer.decide(access)
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

/** Creates upstreams that send nothing to nodes. */
export function createDryUpstreams(
  configuration: Configuration,
  log: Log,
  onReach: () => void,
): FindUpstreamOptions {
  const upstreams = createUpstreams(configuration, {
    maxConnections: 1,
    findCaller: undefined,
    log,
  })
  const caller: Caller = { pending: 0, call: onReach, drain: () => {}, close: () => {} }
  return (service, domain) => {
    const options = upstreams.of(service, domain)
    const dry = { dispatch: onReach, cancel: () => {} }
    const createPool = (address: PoolAddress): Pool =>
      Object.assign(options.createPool(address), dry)
    const createHttp2Pool = (address: PoolAddress): Http2Pool =>
      Object.assign(options.createHttp2Pool!(address), dry)
    // Health checks would connect to the nodes.
    const policies = options.policies && { ...options.policies, health: undefined }
    return { ...options, policies, createPool, createHttp2Pool, findCaller: () => caller }
  }
}

/** Creates brokers that publish nothing. */
export function createDrySinks(onReach: () => void): EventSinks {
  const publish = (): Promise<never> => {
    onReach()
    return new Promise(() => {})
  }
  return { broker: { publish, maxBodyBytes: Number.POSITIVE_INFINITY } }
}

/** Exchange that does not forward WebSockets. */
export class DryExchange extends TestExchange {
  error: GatewayError | undefined = undefined
  readonly #onReach: () => void

  constructor(request: TestRequest, onReach: () => void) {
    super(request)
    this.#onReach = onReach
  }

  override tunnel(): Promise<void> {
    this.#onReach()
    return new Promise(() => {})
  }

  /** Omits the content of a file. */
  override start(...head: Parameters<TestExchange['start']>): void {
    super.start(...head)
    this.end()
  }

  override fail(error: GatewayError): void {
    this.error ??= error
    super.fail(error)
  }
}
