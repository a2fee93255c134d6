import { isServiceName } from '../../core/registry/service-name.ts'

/**
 * A topic, or a queue, of a namespace among those of all: `acme.orders`. Dots of the namespace are `=`, which no topic of a
 * namespace has: `eu.orders` of `acme` is `acme.eu.orders`, and `orders` of `acme.eu` is `acme=eu.orders`.
 */
export function toTopicName(namespace: string, name: string): string {
  return `${namespace.replaceAll('.', '=')}.${name}`
}

/** Whether a broker takes a topic, or a queue, of this name: named as services are, but for `=` where dots may be. */
export function isTopicName(name: string): boolean {
  return isServiceName(name) || (name.includes('=') && isServiceName(name.replaceAll('=', '.')))
}
