import { isNamespaceName, NAMESPACE_FORM } from '../../../core/registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import type { CheckedBroker } from '../../../domain/broker/broker.ts'
import { rejectInput } from '../../../domain/broker/errors.ts'
import { toTopicName } from '../../../domain/broker/topic-name.ts'

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
      if (!isNamespaceName(namespace))
        throw rejectInput(
          400,
          `Mx-Namespace must be ${NAMESPACE_FORM}, got ${JSON.stringify(namespace.slice(0, 100))}`,
        )
      const told = {
        ...headers,
        'mx-topic': `${namespace}.${topic}`,
        'mx-namespace': namespace,
      }
      return broker.publish(toTopicName(namespace, topic), { headers: told, body })
    },
  }
}
