import { isNamespaceName, NAMESPACE_FORM } from '../../../core/registry/namespace-name.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import type { CheckedBroker } from '../../../domain/broker/broker.ts'
import { brokerError } from '../../../domain/broker/errors.ts'
import { toTopicName } from '../../../domain/broker/topic-name.ts'

/**
 * Prefixes topics with the namespace of the message, for example `mx.orders`, like the `broker`
 * service. Used for gateways that do not add the namespace themselves.
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
        throw brokerError(
          400,
          `Mx-Namespace must be ${NAMESPACE_FORM}, got ${JSON.stringify(namespace.slice(0, 100))}`,
        )
      const namespaced = {
        ...headers,
        'mx-topic': `${namespace}.${topic}`,
        'mx-namespace': namespace,
      }
      return broker.publish(toTopicName(namespace, topic), { headers: namespaced, body })
    },
  }
}
