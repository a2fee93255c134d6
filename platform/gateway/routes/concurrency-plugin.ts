import type { Plugin } from '../../../core/chain.ts'
import { toConsumerKey } from '../../../core/plugin/compile-chain.ts'
import type { ConcurrencyLimits } from '../../../core/upstream/concurrency/concurrency-limits.ts'
import { EventLoopDelay } from '../../../lib/time/event-loop-delay.ts'
import type { Configuration } from '../../config/types.ts'

/**
 * Creates the plugin for concurrency limits and load shedding. Returns undefined if neither is
 * configured.
 */
export function createConcurrencyPlugin(
  { settings, config }: Configuration,
  limits: ConcurrencyLimits,
): Plugin | undefined {
  const { shedAboveMs } = settings
  const layers = [config, ...config.services, ...config.routes].map(({ policies }) => policies)
  const isLimited = layers.some((policies) => typeof policies?.concurrency === 'object')
  if (!isLimited && shedAboveMs === 0) return undefined
  const priorities = config.consumers.flatMap(({ account, namespace, priority }) =>
    priority === undefined
      ? []
      : [[toConsumerKey({ issuer: namespace, id: account }), priority] as const],
  )
  return limits.createPlugin({
    consumers: new Map(priorities),
    overload: shedAboveMs === 0 ? undefined : { aboveMs: shedAboveMs, delay: new EventLoopDelay() },
  })
}
