import { createRequestHistory } from '../../core/metrics/request-history.ts'
import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { createServiceRates } from '../../core/metrics/service-rates.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createApiEndpoints } from './endpoints.ts'
import type { GatewayView } from './gateway-view.ts'
import { createStatsFeeds } from './stats-feeds.ts'

const DESCRIPTION = 'The gateway and its statistics'

export interface ApiServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Request metrics of the gateway. */
  readonly metrics: RequestMetrics
  /** Number of requests in flight. */
  readonly inFlight: () => number
  /** Returns undefined while the gateway is starting. */
  readonly gateway: () => GatewayView | undefined
  /** Maximum number of watchers; further watchers are rejected with 429. @default 1000 */
  readonly maxWatchers?: number
}

/** The gateway's `api` service. */
export interface ApiService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Ends watches and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Calls {@link endStreams}, then stops the service. */
  readonly close: () => Promise<void>
}

// Number of points in five minutes.
const MAX_POINTS = 300

/** Creates the `api` service, which provides statistics, routes and plugins of the gateway. */
export function createApiService(options: ApiServiceOptions): ApiService {
  const { metrics, inFlight, gateway, maxWatchers = 1000, ...serviceOptions } = options
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'api',
  })
  const history = createRequestHistory({
    metrics,
    inFlight,
    maxPoints: MAX_POINTS,
    onPoint: (point) => feeds.publish(point),
  })
  const feeds = createStatsFeeds({ points: history.points, maxWatchers })
  const rates = createServiceRates({ metrics })
  const checks = createAccountChecks(serviceOptions.authorizer)
  service.handle(
    'Api',
    createApiEndpoints({
      ...{ gateway, feeds, rates: rates.read, checks, maxPoints: MAX_POINTS },
      recent: () => metrics.recent?.list() ?? [],
    }),
  )
  return {
    service,
    endStreams: feeds.close,
    async close() {
      feeds.close()
      history.close()
      rates.close()
      await service.stop()
    },
  }
}
