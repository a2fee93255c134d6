import type { CheckedBroker } from '../core/broker/broker.ts'
import { DEFAULT_DOMAIN } from '../core/service-entry.ts'

/**
 * A broker whose topics are those of the namespace that a message names, as the service `broker` has them: `mx.orders`. For a gateway
 * that puts none in front itself.
 */
export function withNamespaces(
  broker: CheckedBroker,
): Pick<CheckedBroker, 'maxBodyBytes' | 'publish'> {
  return {
    get maxBodyBytes() {
      return broker.maxBodyBytes
    },

    publish(topic, { headers, body }) {
      const namespace = headers['mx-namespace'] || DEFAULT_DOMAIN
      const full = `${namespace}.${topic}`
      const told = { ...headers, 'mx-topic': full, 'mx-namespace': namespace }
      return broker.publish(full, { headers: told, body })
    },
  }
}
